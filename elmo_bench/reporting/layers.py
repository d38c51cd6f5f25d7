"""Layers: the weights that the mixes learned, and the scores of every probe on one layer at a time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pandas as pd

from elmo_bench.reporting.canvas import Box, Drawing, heat
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.statistics import Summary, summarise
from elmo_bench.reporting.table import Cell, Line, Table, make_table, number, spread, words
from elmo_bench.reporting.variants import controls_of, selectivity
from elmo_bench.spec.experiments import Experiment

SMALL, LARGE = "////", ".."  # below 1/3 hatched, above 2/3 speckled (with three layers, as the paper's figure 2)
Place = tuple[str, int | None]  # encoder, and its layer; None: an encoder that has no layers


@dataclass(frozen=True)
class Mix:
    """One mix at the best epoch, over seeds."""

    group: Group
    row: Row
    place: str  # input or output; of a stack with the encoder, such as `input elmo`
    gamma: Summary
    weights: tuple[Summary, ...]  # lowest layer first
    shares: tuple[Summary, ...]  # of weight times mean norm in their sum; empty where the records have no norms

    @property
    def heading(self) -> str:
        """`at the input`, or `elmo at the input`."""
        place, _, part = self.place.partition(" ")
        return f"{part} at the {place}".lstrip()


@dataclass(frozen=True)
class Probe:
    """A row of the heat map: one figure of one task."""

    group: Group
    figure: str  # the metric, or selectivity
    scores: dict[Place, tuple[Row, Summary]]


def weights(
    experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains
) -> tuple[list[Table], list[Drawing]]:
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
    mixes: dict[tuple[Group, str, str], Mix] = {}
    for group in (group for group in groups if not group.basis.fraction):
        rows = [r for r in group.rows if r.spec.settings.get("mix") == "scalar" and not r.other_vectors]
        rows = [r for r in rows if r.variation.keys() <= {"place"}]
        rows.sort(key=lambda row: (bool(row.variation), row.variation.get("place") != "both", row.label))
        own: dict[tuple[Group, str, str], Mix] = {}
        for mix in (mix for row in rows for mix in mixes_of(group, row)):
            own.setdefault((group, mix.row.encoder, mix.place), mix)
        mixes |= {key: own[key] for key in sorted(own, key=lambda key: key[1:])}
    return [*mixes.values()]


def mixes_of(group: Group, row: Row) -> list[Mix]:
    """By place; none for a row without a mix."""
    epochs = [r["layer_weights"][r["epochs"]["best"] - 1] for r in row.records if r["layer_weights"]]
    found = []
    for place in sorted({place for epoch in epochs for place in epoch}):
        mixes = [epoch[place] for epoch in epochs if place in epoch]
        layers = tuple(summarise(layer) for layer in zip(*(mix["weights"] for mix in mixes), strict=True))
        found.append(Mix(group, row, place, summarise(mix["gamma"] for mix in mixes), layers, _shares(mixes)))
    return found


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


def hatch_of(weight: float, layers: int) -> str | None:
    """How a cell of so many layers is marked."""
    return SMALL if weight < 1 / layers else LARGE if weight > 2 / layers else None


def _weights(experiment: Experiment, suite: str, encoder: str, mixes: list[Mix]) -> Drawing:
    boxes = []
    for mix in sorted(mixes, key=lambda mix: mix.heading):
        for layer, weight in enumerate(mix.weights):
            below = f"{mix.shares[layer].mean:.0%}" if mix.shares else ""
            hatch, block = hatch_of(weight.mean, len(mix.weights)), mix.heading.replace(" at the ", "\nat the ")
            boxes.append(Box(block, mix.group.label("\n"), layer, weight.mean, f"{weight.mean:.2f}", below, hatch))
    said = "; ".join(
        f"{mix.group.label()} {mix.heading}: " + ", ".join(f"{w.mean:.2f}" for w in mix.weights) for mix in mixes
    )
    alt = f"Softmax weights of the layers of {encoder}, lowest first. {said}. "
    alt += "Hatched: below an even share; speckled: above two."
    title = f"Layer weights of {encoder}, suite {suite}"
    title += "; below, each layer's share of weight times mean norm" if any(mix.shares for mix in mixes) else ""
    stem = "-".join([suite, experiment.name, *re.findall(r"[\w.]+", encoder)])
    return heat(stem, title, alt, boxes, [f"layer {k}" for k in range(max(len(mix.weights) for mix in mixes))])


def probes(
    experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains
) -> tuple[list[Table], list[Drawing]]:
    """A table and a heat map: encoders and layers by probes. None without two layers of an encoder.

    A probe is a task of the experiment with its metric, and with its selectivity if runs on control labels are known.
    """
    own = _probes(experiment, groups)
    every = places(experiment, own)
    if len([layer for _, layer in every if layer is not None]) < 2:
        return [], []
    cells = pd.DataFrame(
        [
            (every.index(place), f"{probe.group.name} {probe.figure}", spread(summary, run=row.anchor))
            for probe in own
            for place, (row, summary) in probe.scores.items()
        ],
        columns=["place", "probe", "cell"],
    )
    pivot = cells.pivot(index="place", columns="probe", values="cell")[list(dict.fromkeys(cells.probe))]
    heads = pd.DataFrame([{"encoder": words(encoder), "layer": number(layer, "d")} for encoder, layer in every])
    title, tasks = f"{experiment.caption}: test scores, suite {suite}", [own[0].group.task] * len(every)
    table = make_table(f"{suite}-{experiment.name}", title, pd.concat([heads, pivot], axis=1), tasks=tasks)
    return [table], [_probed(experiment, suite, own, every)]


def _probes(experiment: Experiment, groups: Sequence[Group]) -> list[Probe]:
    controls, probes, tasks = controls_of(groups), list[Probe](), experiment.values("task")
    shown = [group for group in groups if group.task in tasks and not group.basis.fraction and not group.basis.labels]
    for group in sorted(shown, key=lambda group: tasks.index(group.task)):
        rows = {place: row for row in group.rows if (place := _place(experiment, row))}
        summaries = {place: (row, row.summary("test")) for place, row in rows.items()}
        selective = {place: (row, own) for place, row in rows.items() if (own := selectivity(row, controls))}
        probes += [Probe(group, group.metric, summaries), Probe(group, "selectivity", selective)]
    return [probe for probe in probes if probe.scores]


def places(experiment: Experiment, probes: Sequence[Probe]) -> list[Place]:
    """Every encoder and layer: encoders without layers, then the experiment's encoders, then others."""
    order = [str(encoder) for encoder in experiment.values("encoder")]

    def rank(place: Place) -> tuple[bool, int, str, int]:
        encoder, layer = place
        return layer is not None, order.index(encoder) if encoder in order else len(order), encoder, layer or 0

    return sorted({place for probe in probes for place in probe.scores}, key=rank)


def _place(experiment: Experiment, row: Row) -> Place | None:
    variant = experiment.variant_of(row.spec)
    if variant is not None:
        return row.encoder, variant.options[experiment.axis]
    layered = "encoder.contextual.kind" in row.spec.settings
    return None if layered or row.variation or row.other_vectors else (row.encoder, None)


def _probed(experiment: Experiment, suite: str, probes: Sequence[Probe], every: Sequence[Place]) -> Drawing:
    """A row a probe, a column a layer; the colours of a row go from its lowest to its highest score."""
    names = [f"{probe.group.label()}, {probe.figure}" for probe in probes]
    boxes = []
    for encoder, layer in every:
        for row, probe in enumerate(reversed(probes)):
            if (encoder, layer) in probe.scores:
                means = [summary.mean for _, summary in probe.scores.values()]
                mean, low, wide = probe.scores[encoder, layer][1].mean, min(means), max(means) - min(means) or 1.0
                column, block = "–" if layer is None else str(layer), encoder.replace(", ", "\n")
                boxes.append(Box(block, column, row, (mean - low) / wide, f"{mean:.1f}"))
    said = "; ".join(
        f"{name}: " + ", ".join(f"{_said(p)} {probe.scores[p][1].mean:.1f}" for p in every if p in probe.scores)
        for name, probe in zip(names, probes, strict=True)
    )
    alt = f"Test scores by encoder and layer. {said}. Darker is higher within a row."
    stem, title = f"{suite}-{experiment.name}", f"{experiment.caption}, suite {suite}"
    return heat(stem, title, alt, boxes, names[::-1], xlabel="layer, 0 is the lowest")


def _said(place: Place) -> str:
    encoder, layer = place
    return encoder if layer is None else f"{encoder} layer {layer}"
