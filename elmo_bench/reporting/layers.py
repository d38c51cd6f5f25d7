"""Layers: the weights that the mixes learned."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from math import nan
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from elmo_bench.reporting.canvas import SURFACE, WIDTH, Drawing, Made
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.significance import Summary, summarise
from elmo_bench.reporting.table import ROW, Line, make_table, number, spread
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.settings import VECTORS

DARK, LIGHT = "#10151c", "#fdfdfd"  # on the cells of a heat map, whether the page is light or dark


class Mix(NamedTuple):
    """One mix at the best epoch, over seeds."""

    group: Group
    row: Row
    place: str  # input or output; of a stack with the encoder, such as `input elmo`
    gamma: Summary
    weights: tuple[Summary, ...]  # lowest layer first
    shares: tuple[Summary, ...]  # of weight times mean norm in their sum; empty where the records have no norms


def weights(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table of every mix of every task, and a heat map an encoder: layers by places and tasks."""
    mixes = learned(groups)
    if not mixes:
        return [], []
    lines = [_line(mix, max(len(each.weights) for each in mixes)) for mix in mixes]
    title = f"Learned weights of the layers at the best epoch, suite {suite}"
    title += "; share: of weight times mean norm" if any(mix.shares for mix in mixes) else ""
    table = make_table(f"{suite}-{experiment.name}", title, lines)
    encoders = sorted({mix.row.encoder for mix in mixes})
    return [table], [_weights(experiment, suite, n, [m for m in mixes if m.row.encoder == n]) for n in encoders]


def learned(groups: Sequence[Group]) -> list[Mix]:
    """For each group, encoder and place the learned weights of the default run."""
    mixes: list[Mix] = []
    for group in (group for group in groups if not group.basis.fraction):
        rows = [r for r in group.rows if r.spec.settings.get("mix") == "scalar" and VECTORS not in r.changes]
        every = [mix for row in rows if not row.variation for mix in mixes_of(group, row)]
        mixes += sorted(every, key=lambda mix: (mix.row.encoder, mix.place))
    return mixes


def mixes_of(group: Group, row: Row) -> list[Mix]:
    """By place; none for a row without a mix. Shares are of what each layer adds to the mixed vector."""
    epochs = [r["layer_weights"][r["epochs"]["best"] - 1] for r in row.records if r["layer_weights"]]
    every = []
    for place in sorted({place for epoch in epochs for place in epoch}):
        mixes = [epoch[place] for epoch in epochs if place in epoch]
        products = [np.multiply(mix["weights"], mix["norms"]) for mix in mixes if "norms" in mix]
        layers = zip(*(mix["weights"] for mix in mixes), strict=True)
        shares = zip(*((each / each.sum()).tolist() for each in products if each.sum()), strict=True)
        gamma = summarise(mix["gamma"] for mix in mixes)
        every.append(Mix(group, row, place, gamma, *(tuple(map(summarise, own)) for own in (layers, shares))))
    return every


def _line(mix: Mix, layers: int) -> Line:
    """A column for each of the layers, then for the share of each."""
    columns = {"layer": mix.weights, "share of layer": mix.shares}
    cells = {f"{name} {k}": spread(own) for name, by_layer in columns.items() for k, own in enumerate(by_layer)}
    return {
        ROW: mix.row,
        "task": f"{mix.group.heading} {mix.row.mark}".strip(),
        "encoder": mix.row.encoder,
        "place": mix.place,
        "γ": spread(mix.gamma),
        **{f"{name} {k}": cells.get(f"{name} {k}") for name in columns for k in range(layers)},
        "λ": number(mix.row.spec.settings.get("mix.penalty"), "g"),
    }


def _weights(experiment: Experiment, suite: str, encoder: str, mixes: list[Mix]) -> Drawing:
    """A heat map: tasks and places by layers."""
    names = [mix.group.label("\n") + f", {mix.place}" for mix in mixes]
    columns = [f"layer {layer}" for layer in range(max(len(mix.weights) for mix in mixes))]
    texts = [
        [f"{weight.mean:.2f}" + (f" ({share.mean:.0%})" if share else "") for weight, share in by_layer]
        for by_layer in (zip_longest(mix.weights, mix.shares) for mix in mixes)
    ]
    parts = [mix.shares or mix.weights for mix in mixes]
    shares = "in brackets and as the colour: share of weight times mean norm" if any(m.shares for m in mixes) else ""

    def paint(axes: Axes) -> None:
        grid = [[each.mean for each in own] + [nan] * (len(columns) - len(own)) for own in parts]
        axes.pcolormesh(range(len(columns)), range(len(names)), grid, cmap="Blues", vmin=0, vmax=1.1, edgecolor=SURFACE)
        axes.invert_yaxis()
        for y, own in enumerate(texts):
            for x, text in enumerate(own):
                axes.text(x, y, text, color=LIGHT if grid[y][x] > 0.6 else DARK, ha="center", va="center")
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(names)), names)
        axes.grid(visible=False)
        axes.tick_params(length=0, labeltop=True, labelbottom=False)
        axes.set_xlabel(f"learned weights; 0 is the lowest layer\n{shares}".strip(), loc="right")  # else cut off
        axes.spines[["left", "bottom"]].set_visible(False)

    title = f"Layer weights of {encoder}, suite {suite}"
    largest = [max(range(len(own)), key=lambda k, own=own: own[k].mean) for own in parts]  # type: ignore[misc]
    count = max(map(largest.count, largest))
    top = " and ".join(f"layer {k}" for k in sorted(set(largest)) if largest.count(k) == count)
    does = "gives the largest share" if shares else "weighs most"
    each = "each " if " and " in top else ""
    message = f"{encoder}: {top} {each}{does} in {count} of {len(mixes)} mixes"
    told = "; ".join(
        f"{name}: {', '.join(map(' '.join, zip(columns, own, strict=False)))}"
        for name, own in zip(names, texts, strict=True)
    )
    alt = f"{message}. {title}; {shares or 'learned weights'}. {told}.".replace("\n", ", ")
    stem, size = "-".join([suite, experiment.name, *re.findall(r"[\w.]+", encoder)]), (WIDTH, 1.0 + 0.55 * len(names))
    return Drawing(stem, title, alt, paint, message=message, size=size)
