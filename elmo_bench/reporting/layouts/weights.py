"""What the mixes learned: the weight of each layer, by task and place.

The figure is as the paper's figure 2: small weights hatched, large ones speckled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from elmo_bench.reporting.canvas import DARK, LIGHT, Drawing, bare, inches, label
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import Row
from elmo_bench.reporting.statistics import Summary, summarise
from elmo_bench.reporting.table import SPREAD, Cell, Column, Line, Table, make_table, number, spread, words
from elmo_bench.spec.experiments import Experiment

SMALL, LARGE = "////", ".."  # below 1/3 hatched, above 2/3 speckled (with three layers, as the paper)
BLUE, PALE = "#7d93ad", "#dfe9f5"  # patterns on the cells
CELL, GAP = 0.56, 0.4  # inches across; between blocks, in cells


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


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """The table, and a heat map an encoder: layers by tasks, a block a place."""
    mixes = learned(groups)
    encoders = sorted({mix.row.encoder for mix in mixes})
    drawn = [
        _heat(experiment.name, suite, name, [mix for mix in mixes if mix.row.encoder == name]) for name in encoders
    ]
    return tables(experiment, suite, mixes), drawn


def learned(groups: Sequence[Group]) -> list[Mix]:
    """For each group, encoder and place the learned weights of the default run.

    If the default run has no mix at that place, another run's are used that differs in the place alone.
    """
    return [mix for group in groups if not group.basis.fraction for mix in _of_group(group)]


def tables(experiment: Experiment, suite: str, mixes: Sequence[Mix]) -> list[Table]:
    """One table: every mix of every task."""
    if not mixes:
        return []
    deepest, measured = max(len(mix.weights) for mix in mixes), max(len(mix.shares) for mix in mixes)
    lines: list[Line] = []
    for mix in mixes:
        run, layers = mix.row.anchor, [spread(weight, run=mix.row.anchor) for weight in mix.weights]
        layers += [Cell("")] * (deepest - len(layers))
        lines.append(
            {
                Column("task", words=True): words(f"{mix.group.heading} {mix.row.mark}".strip(), run=run),
                Column("encoder", words=True): words(mix.row.encoder),
                Column("place", words=True): words(mix.place),
                Column("γ", SPREAD): spread(mix.gamma, run=run),
                **{Column(f"layer {k}", SPREAD): layer for k, layer in enumerate(layers)},
                **_share_columns(mix, measured),
                Column("λ"): number(mix.row.spec.settings.get("mix.penalty"), "g"),
            }
        )
    title = f"Learned weights of the layers at the best epoch, suite {suite}"
    if measured:
        title += "; share: of weight times mean norm"
    tasks = [mix.group.task for mix in mixes]
    return [make_table(f"{suite}-{experiment.name}", title, lines, tasks=tasks)]


def _share_columns(mix: Mix, layers: int) -> Line:
    cells = [spread(share, run=mix.row.anchor) for share in mix.shares]
    cells += [Cell("")] * (layers - len(cells))
    return {Column(f"share of layer {k}", SPREAD): cell for k, cell in enumerate(cells)}


def _of_group(group: Group) -> list[Mix]:
    rows = [r for r in group.rows if r.spec.settings.get("mix") == "scalar" and not r.other_vectors]
    rows = [r for r in rows if r.variation.keys() <= {"place"}]
    found: dict[tuple[str, str], Mix] = {}
    for row in sorted(rows, key=lambda row: (bool(row.variation), row.variation.get("place") != "both", row.label)):
        for mix in mixes_of(group, row):
            found.setdefault((row.encoder, mix.place), mix)
    return [found[key] for key in sorted(found)]


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


def hatch_of(weight: float, layers: int) -> str | None:
    """How a cell of so many layers is marked."""
    return SMALL if weight < 1 / layers else LARGE if weight > 2 / layers else None


def _heat(name: str, suite: str, encoder: str, mixes: list[Mix]) -> Drawing:
    blocks = {name: [mix for mix in mixes if mix.heading == name] for name in sorted({mix.heading for mix in mixes})}
    titles = {heading: heading.replace(" at the ", "\nat the ") for heading in blocks}
    widths = [max(len(own), inches(titles[heading]) / CELL) for heading, own in blocks.items()]
    across = sum(widths) + GAP * (len(widths) - 1)
    depth = max(len(mix.weights) for mix in mixes)
    colours = mpl.colormaps["Blues"]

    def paint(axes: Axes) -> None:
        start, ticks = 0.0, []
        for (heading, own), width in zip(blocks.items(), widths, strict=True):
            axes.text(start, depth + 0.12, titles[heading], fontweight="bold", va="bottom")
            for k, mix in enumerate(own):
                at = start + k
                for layer, weight in enumerate(mix.weights):
                    fill = colours(0.08 + 0.8 * weight.mean)
                    ink = LIGHT if weight.mean > 0.6 else DARK
                    cell: dict[str, Any] = {"xy": (at, layer), "width": 0.96, "height": 0.94, "linewidth": 0.0}
                    axes.add_patch(Rectangle(**cell, facecolor=fill))
                    if hatch := hatch_of(weight.mean, len(mix.weights)):  # a separate patch: one pattern for all
                        edge = PALE if weight.mean > 0.6 else BLUE
                        axes.add_patch(Rectangle(**cell, facecolor="none", edgecolor=edge, hatch=hatch))
                    style: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "fontsize": 8.5}
                    plain = {"facecolor": fill, "edgecolor": "none", "pad": 1.2}  # no hatch behind the number
                    height = 0.6 if mix.shares else 0.47
                    axes.text(at + 0.48, layer + height, f"{weight.mean:.2f}", bbox=plain, **style)
                    if mix.shares:
                        told = f"{mix.shares[layer].mean:.0%}"
                        axes.text(at + 0.48, layer + 0.2, told, bbox=plain, **style | {"fontsize": 6.5})
                ticks.append((at + 0.48, label(mix.group)))
            start += width + GAP
        axes.set_xlim(0, across)
        axes.set_ylim(0, depth + 0.1)
        axes.set_xticks(
            [x for x, _ in ticks], [task for _, task in ticks], rotation=35, ha="right", rotation_mode="anchor"
        )
        axes.set_yticks([k + 0.47 for k in range(depth)], [f"layer {k}" for k in range(depth)])
        bare(axes)

    said = "; ".join(
        f"{label(mix.group, ', ')} {mix.heading}: " + ", ".join(f"{w.mean:.2f}" for w in mix.weights) for mix in mixes
    )
    alt = f"Softmax weights of the layers of {encoder}, lowest first. {said}. "
    alt += "Hatched: below an even share; speckled: above two."
    caption = f"Layer weights of {encoder}, suite {suite}"
    if any(mix.shares for mix in mixes):
        caption += "; below, each layer's share of weight times mean norm"
    long = max(1.35, inches(*(label(mix.group) for mix in mixes)))  # slanted: 0.82 to the side and 0.57 down
    size = (0.2 + 0.82 * long + CELL * across, 0.95 + 0.57 * long + 0.36 * depth)
    stem = "-".join([suite, name, *re.findall(r"[\w.]+", encoder)])
    return Drawing(stem, caption, alt, paint, size=size)
