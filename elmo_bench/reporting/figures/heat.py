"""The learned weights of the layers as the paper's figure 2 draws them: small ones hatched, large ones speckled."""

import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from elmo_bench.reporting.figures.canvas import Drawing, draw, inches, label
from elmo_bench.reporting.layouts.weights import Mix

SMALL, LARGE = "////", ".."  # below 1/3 hatched, above 2/3 speckled (with three layers, as the paper)
DARK, LIGHT, BLUE, PALE = "#10151c", "#fdfdfd", "#7d93ad", "#dfe9f5"  # on the cells, whether the page is light or dark
PLACES = {"input": "at the input", "output": "at the output"}


def layer_figures(name: str, suite: str, mixes: Sequence[Mix]) -> list[Drawing]:
    """A heat map an encoder: layers by tasks, a block a place; `name` is the experiment's."""
    encoders = sorted({mix.row.encoder for mix in mixes})
    return [_heat(name, suite, encoder, [mix for mix in mixes if mix.row.encoder == encoder]) for encoder in encoders]


def hatch_of(weight: float, layers: int) -> str | None:
    """How a cell of so many layers is marked."""
    return SMALL if weight < 1 / layers else LARGE if weight > 2 / layers else None


def _heat(name: str, suite: str, encoder: str, mixes: list[Mix]) -> Drawing:
    blocks = {place: [mix for mix in mixes if mix.place == place] for place in PLACES}
    blocks = {place: own for place, own in blocks.items() if own}
    depth = max(len(mix.weights) for mix in mixes)
    colours = mpl.colormaps["Blues"]

    def paint(axes: Axes) -> None:
        at, ticks = 0.0, []
        for place, own in blocks.items():
            axes.text(at, depth + 0.12, PLACES[place], fontweight="bold", va="bottom")
            for mix in own:
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
                    axes.text(at + 0.48, layer + 0.47, f"{weight.mean:.2f}", bbox=plain, **style)
                ticks.append((at + 0.48, label(mix.group)))
                at += 1
            at += 0.4
        axes.set_xlim(0, at - 0.4)
        axes.set_ylim(0, depth + 0.1)
        axes.set_xticks(
            [x for x, _ in ticks], [task for _, task in ticks], rotation=35, ha="right", rotation_mode="anchor"
        )
        axes.set_yticks([k + 0.47 for k in range(depth)], [f"layer {k}" for k in range(depth)])
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)

    said = "; ".join(
        f"{label(mix.group, ', ')} {PLACES[mix.place]}: " + ", ".join(f"{w.mean:.2f}" for w in mix.weights)
        for mix in mixes
    )
    alt = f"Softmax weights of the layers of {encoder}, lowest first. {said}. "
    alt += "Hatched: below an even share; speckled: above two."
    count = sum(map(len, blocks.values())) + 0.4 * (len(blocks) - 1)
    long = max(1.35, inches(*(label(mix.group) for mix in mixes)))  # slanted: 0.82 to the side and 0.57 down
    size = (0.2 + 0.82 * long + 0.56 * count, 0.8 + 0.57 * long + 0.36 * depth)
    stem = "-".join([suite, name, *re.findall(r"[\w.]+", encoder)])
    return draw(stem, f"Layer weights of {encoder}, suite {suite}", alt, paint, size=size)
