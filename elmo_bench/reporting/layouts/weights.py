"""Layers: the weights that the mixes learned."""

import re
from collections.abc import Sequence
from itertools import chain
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from elmo_bench.ledger.record import MixWeights
from elmo_bench.reporting.comparable import shortened
from elmo_bench.reporting.figures import SURFACE, WIDTH, Drawing, figure
from elmo_bench.reporting.formats import number, spread, words
from elmo_bench.reporting.names import task_title
from elmo_bench.reporting.rows import lines_of, rows_of
from elmo_bench.reporting.selection import learned_weights
from elmo_bench.reporting.significance import Summary, summarise
from elmo_bench.reporting.tables import Table, make_table, table
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.settings import VECTORS

# On the cells of a heat map, whether the page is light or dark.
DARK, LIGHT = "#10151c", "#fdfdfd"
SHARES = "in brackets and as the colour: share of weight times mean norm"


def select(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The systems on all of the data that learned weights of the layers, and change
    nothing else.
    """
    whole = systems[systems.fraction == ""]
    return whole[learned_weights(whole)]


@table("weights", select=select)
def weights(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Table]:
    """A table of every mix of every task."""
    mixes = learned(systems)
    if mixes.empty:
        return []
    layers = range(int(mixes.layers.max()))
    formats = [
        words("task", "marked_heading"),
        words("encoder", "encoder_label"),
        words("place", "place"),
        spread("γ", "gamma", count="gamma_n"),
    ]
    for name in ("layer", "share of layer"):
        formats.extend(
            spread(f"{name} {k}", f"{name} {k}", count=f"{name} {k}_n") for k in layers
        )
    formats.append(number("λ", "penalty", "g"))
    suite = mixes.suite.iloc[0]
    title = (
        f"Learned weights of the layers at the best epoch, suite {suite}; share: of "
        "weight times mean norm"
    )
    return [make_table(f"{suite}-{experiment.name}", title, mixes, formats)]


def learned(systems: pd.DataFrame) -> pd.DataFrame:
    """A row for each group, encoder and place of the default runs: its weights at the
    best epoch, over seeds.

    Columns, each with `_mean`, `_sd` and `_n`: `gamma`, `layer 0` (the lowest) and so
    on, `share of layer 0` and so on, the share of weight times mean norm in their sum.
    """
    rows = []
    for _, group in systems.groupby("basis", sort=False):
        usual = group[[VECTORS not in spec.changes for spec in group.spec]]
        mixes = list(chain(*(mixes_of(row) for row in rows_of(usual))))
        rows.extend(sorted(mixes, key=lambda mix: (mix["encoder_label"], mix["place"])))
    table = pd.DataFrame(rows)
    return table.astype({name: "Int64" for name in table if name.endswith("_n")})


def mixes_of(system: Any) -> list[dict[str, Any]]:
    """The mixes of a system by place (input or output; of a stack with the encoder,
    such as `input elmo`).
    """
    seeds = [mixes for mixes in system.seed_mixes if mixes]
    rows = []
    for place in sorted(set(chain(*seeds))):
        mixes = [of_seed[place] for of_seed in seeds if place in of_seed]
        by_layer = list(zip(*(mix.weights for mix in mixes), strict=True))
        shares = list(zip(*map(_shares, mixes), strict=True))
        row = {
            "suite": system.suite,
            "task": system.task,
            "anchor": system.anchor,
            "group_name": "\n".join(
                part for part in (task_title(system.task), system.note) if part
            ),
            "marked_heading": f"{system.heading} {system.mark}".strip(),
            "encoder_label": system.encoder_label,
            "place": place,
            "penalty": system.spec.settings.get("mix.penalty"),
            "layers": len(by_layer),
            **_summary("gamma", [mix.gamma for mix in mixes]),
        }
        for k, numbers in enumerate(by_layer):
            row |= _summary(f"layer {k}", numbers)
        for k, numbers in enumerate(shares):
            row |= _summary(f"share of layer {k}", numbers)
        rows.append(row)
    return rows


def _shares(mix: MixWeights) -> list[float]:
    """How much of the mixed vector each layer adds; 0 if no layer adds anything."""
    product = np.multiply(mix.weights, mix.norms)
    total = product.sum()
    if total == 0:
        return [0.0] * len(product)
    shares: list[float] = (product / total).tolist()
    return shares


def _summary(name: str, numbers: Sequence[float]) -> dict[str, Any]:
    summary: Summary = summarise(numbers)
    return {
        f"{name}_mean": summary.mean,
        f"{name}_sd": summary.sd,
        f"{name}_n": summary.n,
    }


@figure("weights")
def draw(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Drawing]:
    """A heat map an encoder: tasks and places by layers."""
    mixes = learned(systems)
    if mixes.empty:
        return []
    return [
        _heat_map(lines_of(of_encoder), experiment)
        for _, of_encoder in mixes.groupby("encoder_label")
    ]


def _heat_map(mixes: list[dict[str, Any]], experiment: Experiment) -> Drawing:
    encoder, suite = mixes[0]["encoder_label"], mixes[0]["suite"]
    names = [f"{mix['group_name']}, {mix['place']}" for mix in mixes]
    texts = [_texts(mix) for mix in mixes]
    grid = [_numbers(mix) for mix in mixes]
    columns = [f"layer {layer}" for layer in range(max(mix["layers"] for mix in mixes))]

    def paint(axes: Axes, phone: bool) -> None:
        _paint(axes, grid, texts, columns, names)
        below = f"learned weights; 0 is the lowest layer\n{SHARES}"
        # Aligned right: else cut off.
        axes.set_xlabel(below, loc="right")

    message = f"{encoder}: {_largest(grid)}"
    title = f"Layer weights of {encoder}, suite {suite}"
    descriptions = []
    for name, cells in zip(names, texts, strict=True):
        layers = [
            f"{column} {text}" for column, text in zip(columns, cells, strict=False)
        ]
        descriptions.append(f"{name}: {', '.join(layers)}")
    alt = f"{message}. {title}; {SHARES}. {'; '.join(descriptions)}."
    stem = "-".join([suite, experiment.name, *re.findall(r"[\w.]+", encoder)])
    stem = shortened(stem, encoder)
    size = (WIDTH, 1.0 + 0.55 * len(names))
    return Drawing(
        stem, title, alt.replace("\n", ", "), paint, message=message, size=size
    )


def _texts(mix: dict[str, Any]) -> list[str]:
    """The cells of a mix: the weight, and the share in brackets."""
    cells = []
    for k in range(mix["layers"]):
        weight = mix[f"layer {k}_mean"]
        share = mix[f"share of layer {k}_mean"]
        cells.append(f"{weight:.2f} ({share:.0%})")
    return cells


def _numbers(mix: dict[str, Any]) -> list[float]:
    """What the colours of the cells show: shares."""
    return [mix[f"share of layer {k}_mean"] for k in range(mix["layers"])]


def _paint(
    axes: Axes,
    grid: list[list[float]],
    texts: list[list[str]],
    columns: Sequence[str],
    names: Sequence[str],
) -> None:
    filled = [row + [nan] * (len(columns) - len(row)) for row in grid]
    across, down = range(len(columns)), range(len(names))
    # Edges, since a single row of middles would have no height.
    x_edges, y_edges = (np.arange(len(cells) + 1) - 0.5 for cells in (across, down))
    axes.pcolormesh(
        x_edges, y_edges, filled, cmap="Blues", vmin=0, vmax=1.1, edgecolor=SURFACE
    )
    axes.invert_yaxis()
    for y, cells in enumerate(texts):
        for x, text in enumerate(cells):
            colour = LIGHT if filled[y][x] > 0.6 else DARK
            axes.text(x, y, text, color=colour, ha="center", va="center")
    axes.set_xticks(across, columns)
    axes.set_yticks(down, names)
    axes.grid(visible=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[["left", "bottom"]].set_visible(False)


def _largest(grid: list[list[float]]) -> str:
    """Which layer has the largest share most often."""
    largest = [max(range(len(row)), key=row.__getitem__) for row in grid]
    count = max(map(largest.count, largest))
    layers = [f"layer {k}" for k in sorted(set(largest)) if largest.count(k) == count]
    names = " and ".join(layers)
    each = "each " if len(layers) > 1 else ""
    return f"{names} {each}gives the largest share in {count} of {len(grid)} mixes"
