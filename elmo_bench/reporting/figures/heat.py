"""The learned weights of the layers as the paper's figure 2 draws them: small ones hatched, large ones speckled."""

import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from elmo_bench.reporting.figures.canvas import Figure, draw, inches, label
from elmo_bench.reporting.layers import Mix, learned
from elmo_bench.reporting.like import Group

SMALL, LARGE = "////", ".."  # below 1/3 hatched, above 2/3 speckled (with three layers, as the paper)
DARK, LIGHT, BLUE, PALE = "#10151c", "#fdfdfd", "#7d93ad", "#dfe9f5"  # on the cells, light or dark as the page may be
PLACES = {"input": "at the input", "output": "at the output"}


def layer_figures(suite: str, groups: Sequence[Group]) -> list[Figure]:
    """A heat map an encoder: layers by tasks, a block a place."""
    mixes = [(group, mix) for group in groups for mix in learned(group)]
    names = sorted({mix.row.encoder for _, mix in mixes})
    return [_heat(suite, name, [(group, mix) for group, mix in mixes if mix.row.encoder == name]) for name in names]


def hatch_of(weight: float, layers: int) -> str | None:
    """How a cell of so many layers is marked."""
    return SMALL if weight < 1 / layers else LARGE if weight > 2 / layers else None


def _heat(suite: str, encoder: str, mixes: list[tuple[Group, Mix]]) -> Figure:
    blocks = {place: [pair for pair in mixes if pair[1].place == place] for place in PLACES}
    blocks = {place: pairs for place, pairs in blocks.items() if pairs}
    depth = max(len(mix.weights) for _, mix in mixes)
    colours = mpl.colormaps["Blues"]

    def paint(axes: Axes) -> None:
        at, ticks = 0.0, []
        for place, pairs in blocks.items():
            axes.text(at, depth + 0.12, PLACES[place], fontweight="bold", va="bottom")
            for group, mix in pairs:
                for layer, weight in enumerate(mix.weights):
                    fill = colours(0.08 + 0.8 * weight.mean)
                    ink = LIGHT if weight.mean > 0.6 else DARK
                    cell: dict[str, Any] = {"xy": (at, layer), "width": 0.96, "height": 0.94, "linewidth": 0.0}
                    axes.add_patch(Rectangle(**cell, facecolor=fill))
                    if hatch := hatch_of(weight.mean, len(mix.weights)):  # by itself: one pattern for all such cells
                        edge = PALE if weight.mean > 0.6 else BLUE
                        axes.add_patch(Rectangle(**cell, facecolor="none", edgecolor=edge, hatch=hatch))
                    style: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "fontsize": 8.5}
                    plain = {"facecolor": fill, "edgecolor": "none", "pad": 1.2}  # no hatch behind the figure
                    axes.text(at + 0.48, layer + 0.47, f"{weight.mean:.2f}", bbox=plain, **style)
                ticks.append((at + 0.48, label(group)))
                at += 1
            at += 0.4
        axes.set_xlim(0, at - 0.4)
        axes.set_ylim(0, depth + 0.1)
        axes.set_xticks(
            [x for x, _ in ticks], [name for _, name in ticks], rotation=35, ha="right", rotation_mode="anchor"
        )
        axes.set_yticks([k + 0.47 for k in range(depth)], [f"layer {k}" for k in range(depth)])
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)

    said = "; ".join(
        f"{label(group, ', ')} {PLACES[mix.place]}: " + ", ".join(f"{w.mean:.2f}" for w in mix.weights)
        for group, mix in mixes
    )
    alt = f"Softmax weights of the layers of {encoder}, lowest first. {said}. "
    alt += "Hatched: below an even share; speckled: above two."
    count = sum(map(len, blocks.values())) + 0.4 * (len(blocks) - 1)
    long = max(1.35, inches(*(label(group) for group, _ in mixes)))  # and aslant: 0.82 to the side and 0.57 down
    size = (0.2 + 0.82 * long + 0.56 * count, 0.8 + 0.57 * long + 0.36 * depth)
    stem = "-".join([suite, "figure2", *re.findall(r"[\w.]+", encoder)])
    return draw(stem, f"Layer weights of {encoder}, suite {suite}", alt, paint, size=size)
