"""Layers: the weights that the mixes learned, and the scores of every probe on one layer at a time."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import pandas as pd

from elmo_bench.reporting.canvas import Drawing, Made, heat
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.significance import Summary, summarise
from elmo_bench.reporting.table import Cell, Line, make_table, number, spread, words
from elmo_bench.reporting.variants import controls_of, selectivity
from elmo_bench.spec.experiments import Experiment

SMALL, LARGE = "////", ".."  # below 1/3 hatched, above 2/3 speckled (with three layers, as the paper's figure 2)
BOX = ["block", "column", "row", "shade", "text", "hatch"]  # columns of a heat map
MARKED = "Hatched: below an even share; speckled: above two."


class Mix(NamedTuple):
    """One mix at the best epoch, over seeds."""

    group: Group
    row: Row
    place: str  # input or output; of a stack with the encoder, such as `input elmo`
    gamma: Summary
    weights: tuple[Summary, ...]  # lowest layer first
    shares: tuple[Summary, ...]  # of weight times mean norm in their sum; empty where the records have no norms


def weights(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table of every mix of every task, and a heat map an encoder: layers by tasks, a block a place."""
    mixes = learned(groups)
    if not mixes:
        return [], []
    lines = [_line(mix, max(len(m.weights) for m in mixes), max(len(m.shares) for m in mixes)) for mix in mixes]
    title = f"Learned weights of the layers at the best epoch, suite {suite}"
    title += "; share: of weight times mean norm" if any(mix.shares for mix in mixes) else ""
    table = make_table(f"{suite}-{experiment.name}", title, lines, tasks=[mix.group.task for mix in mixes])
    encoders = sorted({mix.row.encoder for mix in mixes})
    return [table], [_weights(experiment, suite, n, [m for m in mixes if m.row.encoder == n]) for n in encoders]


def learned(groups: Sequence[Group]) -> list[Mix]:
    """For each group, encoder and place the learned weights of the default run.

    If the default run has no mix at that place, another run's are used that differs in the place alone.
    """
    mixes: list[Mix] = []
    for group in (group for group in groups if not group.basis.fraction):
        rows = [r for r in group.rows if r.spec.settings.get("mix") == "scalar" and not r.other_vectors]
        rows = [r for r in rows if r.variation.keys() <= {"place"}]
        rows.sort(key=lambda row: (bool(row.variation), row.variation.get("place") != "both", row.label))
        every = [mix for row in rows for mix in mixes_of(group, row)]
        own = {(mix.row.encoder, mix.place): mix for mix in reversed(every)}
        mixes += [own[key] for key in sorted(own)]
    return mixes


def mixes_of(group: Group, row: Row) -> list[Mix]:
    """By place; none for a row without a mix."""
    epochs = [r["layer_weights"][r["epochs"]["best"] - 1] for r in row.records if r["layer_weights"]]
    every = []
    for place in sorted({place for epoch in epochs for place in epoch}):
        mixes = [epoch[place] for epoch in epochs if place in epoch]
        layers = tuple(summarise(layer) for layer in zip(*(mix["weights"] for mix in mixes), strict=True))
        every.append(Mix(group, row, place, summarise(mix["gamma"] for mix in mixes), layers, _shares(mixes)))
    return every


def _shares(mixes: Sequence[Any]) -> tuple[Summary, ...]:
    """What each layer adds to the mixed vector, as a share: weight times mean norm. Empty without norms."""
    products = [[w * n for w, n in zip(m["weights"], m["norms"], strict=True)] for m in mixes if "norms" in m]
    shares = [[value / sum(each) for value in each] for each in products if sum(each)]
    return tuple(summarise(layer) for layer in zip(*shares, strict=True))


def _line(mix: Mix, layers: int, shares: int) -> Line:
    run = mix.row.anchor
    columns = {"layer": (mix.weights, layers), "share of layer": (mix.shares, shares)}
    cells = {
        f"{name} {k}": spread(own, run=run) if own else Cell()
        for name, (summaries, count) in columns.items()
        for k, own in zip_longest(range(count), summaries)
    }
    return {
        "task": words(f"{mix.group.heading} {mix.row.mark}".strip(), run=run),
        "encoder": words(mix.row.encoder),
        "place": words(mix.place),
        "γ": spread(mix.gamma, run=run),
        **cells,
        "λ": number(mix.row.spec.settings.get("mix.penalty"), "g"),
    }


def hatch_of(weight: float, layers: int) -> str:
    """How a cell of so many layers is marked."""
    return SMALL if weight < 1 / layers else LARGE if weight > 2 / layers else ""


def _weights(experiment: Experiment, suite: str, encoder: str, mixes: list[Mix]) -> Drawing:
    boxes = []
    for mix in sorted(mixes, key=lambda mix: mix.place):
        place, _, part = mix.place.partition(" ")
        block, column = f"{part}\nat the {place}".lstrip(), mix.group.label("\n")
        for layer, (weight, share) in enumerate(zip_longest(mix.weights, mix.shares)):
            text = f"{weight.mean:.2f}" + (f"\n{share.mean:.0%}" if share else "")
            hatch = hatch_of(weight.mean, len(mix.weights))
            boxes.append((block, column, f"layer {layer}", weight.mean, text, hatch))
    title = f"Layer weights of {encoder}, suite {suite}"
    title += "; below, each layer's share of weight times mean norm" if any(mix.shares for mix in mixes) else ""
    stem = "-".join([suite, experiment.name, *re.findall(r"[\w.]+", encoder)])
    rows = [f"layer {k}" for k in range(max(len(mix.weights) for mix in mixes))]
    return heat(stem, title, MARKED, pd.DataFrame(boxes, columns=BOX), rows)


def probes(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table and a heat map: encoders and layers by probes. None without two layers of an encoder."""
    frame = probed(experiment, groups)
    if len(frame[["encoder", "layer"]].dropna().drop_duplicates()) < 2:
        return [], []
    stem, order = f"{suite}-{experiment.name}", list(dict.fromkeys(frame["probe"]))
    frame = frame.sort_values("rank", kind="stable")
    cells = frame.pivot(index="rank", columns="probe", values="cell")[order].reset_index(drop=True)
    places = frame[["encoder", "layer"]].drop_duplicates()
    places["layer"] = [Cell() if pd.isna(layer) else number(int(layer), "d") for layer in places["layer"]]
    heads = places.assign(encoder=places["encoder"].map(words)).reset_index(drop=True)
    title = f"{experiment.caption}: test scores, suite {suite}"
    table = make_table(stem, title, pd.concat([heads, cells], axis=1), tasks=frame["task"].iloc[0])
    names = list(dict.fromkeys(frame.set_index("probe").loc[order, "name"]))[::-1]
    low, high = (frame.groupby("name")["mean"].transform(end) for end in ("min", "max"))
    shades = (frame["mean"] - low) / (high - low).where(high > low, 1.0)
    boxes = pd.DataFrame(
        {
            "block": frame["encoder"].str.replace(", ", "\n"),
            "column": ["–" if pd.isna(layer) else f"{layer:.0f}" for layer in frame["layer"]],
            "row": frame["name"],
            "shade": shades,
            "text": frame["mean"].map("{:.1f}".format),
            "hatch": "",
        }
    )
    title, note = f"{experiment.caption}, suite {suite}", "Darker is higher within a row."
    return [table], [heat(stem, title, note, boxes, names, xlabel="layer, 0 is the lowest")]


def probed(experiment: Experiment, groups: Sequence[Group]) -> pd.DataFrame:
    """For each encoder and layer the score of each task, and its selectivity if runs on control labels are known.

    Encoders without layers come first, then the experiment's encoders, then others.
    """
    controls, tasks, lines = controls_of(groups), experiment.values("task"), []
    order = [str(encoder) for encoder in experiment.values("encoder")]
    shown = [group for group in groups if group.task in tasks and not group.basis.fraction and not group.basis.labels]
    for group in sorted(shown, key=lambda group: tasks.index(group.task)):
        every = [(row, *place) for row in group.rows if (place := _place(experiment, row))]
        for figure in (group.metric, "selectivity"):
            for row, encoder, layer in every:
                own = row.summary("test") if figure == group.metric else selectivity(row, controls)
                at = order.index(encoder) if encoder in order else len(order)
                rank = (layer is not None, at, encoder, layer or 0)
                if own:
                    names = (f"{group.name} {figure}", f"{group.label()}, {figure}")
                    lines.append((group.task, *names, encoder, layer, rank, own.mean, spread(own, run=row.anchor)))
    columns = ["task", "probe", "name", "encoder", "layer", "rank", "mean", "cell"]
    return pd.DataFrame(lines, columns=columns).astype({"layer": "Float64"})


def _place(experiment: Experiment, row: Row) -> tuple[str, int | None] | None:
    """(encoder, layer), None for the layer of an encoder that has no layers; None for any other run."""
    variant = experiment.variant_of(row.spec)
    if variant is not None:
        return row.encoder, variant.options[experiment.axis]
    layered = "encoder.contextual.kind" in row.spec.settings
    return None if layered or row.variation or row.other_vectors else (row.encoder, None)
