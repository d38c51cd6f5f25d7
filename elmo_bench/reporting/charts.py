"""Charts: lines over a logarithmic axis, named at their ends."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from elmo_bench.reporting.figures import SURFACE, WIDTH, Drawing, look
from elmo_bench.reporting.names import percent

MOST_TICKS = 6
BARS = "± standard deviation over seeds"
ABOVE_NAMES = 4  # so that the box of a name hides lines, but no end of a bar


@dataclass
class _Label:
    """A name next to its point.

    x, y, width and height are in units of the axes; the size is approximate.
    """

    text: str
    colour: str
    point: tuple[float, float]  # in data
    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: "_Label") -> bool:
        """Whether the two are one above the other."""
        return self.x < other.x + other.width and other.x < self.x + self.width


def name_points(axes: Axes, points: Iterable[tuple[float, float, str, str]]) -> None:
    """Write names, each (x, y, name, colour), to the right of their points; those that
    would overlap move up.

    The limits of the axes must be final.
    """
    width, height = (
        pixels / axes.figure.dpi for pixels in axes.bbox.size
    )  # before the layout; about so after it
    to_axes = axes.transData - axes.transAxes
    labels = []
    for x, y, name, colour in points:
        text = fill(name, 26)
        lines = text.splitlines()
        inches = 0.11 * max(map(len, lines))  # about so long is it in this font
        at_x, at_y = to_axes.transform((x, y))
        labels.append(
            _Label(
                text,
                colour,
                (x, y),
                at_x,
                at_y,
                inches / width,
                0.24 * len(lines) / height,
            )
        )
    labels.sort(key=lambda label: label.y)
    starts = [label.y for label in labels]
    for position, label in enumerate(labels):  # each above those that it would overlap
        for other in labels[:position]:
            if label.overlaps(other):
                label.y = max(label.y, other.y + (label.height + other.height) / 2)
    for label, start in zip(labels, starts, strict=True):
        line = {
            "arrowstyle": "-",
            "color": label.colour,
            "linewidth": 0.8,
            "shrinkA": 0,
            "shrinkB": 5,
        }
        axes.annotate(
            label.text,
            label.point,
            (label.x + 0.025, label.y),
            textcoords="axes fraction",
            va="center",
            color=label.colour,
            bbox={"facecolor": SURFACE, "edgecolor": "none", "pad": 1},  # hides lines
            annotation_clip=False,
            arrowprops=line if abs(label.y - start) > 0.01 else None,
        )


def log_ticks(low: float, high: float) -> list[float]:
    """At most six round numbers in a range or just below, for a logarithmic axis; if
    there are not two, the range.
    """
    ticks: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = []
        for power in range(floor(log10(low)), ceil(log10(high)) + 1):
            round_numbers = [float(f"{digit}e{power}") for digit in digits]
            ticks += [tick for tick in round_numbers if 0.9 * low <= tick <= high]
        if len(ticks) <= MOST_TICKS:
            break
    return ticks[:: ceil(len(ticks) / MOST_TICKS)] if len(ticks) > 1 else [low, high]


def chart(
    stem: str,
    title: str,
    points: pd.DataFrame,
    *,
    message: str,
    bars: str = "",
    share: bool = False,
    steps: bool = False,
    task: str = "",
) -> Drawing:
    """Lines over a logarithmic axis, named at their ends. `share`: x is one; `steps`: y
    holds until the next x; `bars`: what the bars of `sd` are.

    points: columns with the name of a line, x and y, called as the axes; and `sd` of y,
    if there is one.
    """
    by, x, y = points.columns[:3]
    lines = {name: line.sort_values(x) for name, line in points.groupby(by, sort=False)}
    looks = look(lines)

    def written(value: float) -> str:
        return percent(value) if share else f"{value:,.0f}"

    def paint(axes: Axes, phone: bool) -> None:
        for name, line in lines.items():
            colour, marker = looks[name]
            style: dict[str, Any] = {"color": colour, "marker": marker}
            if steps:
                style |= {"drawstyle": "steps-post", "markevery": [-1]}
            _, caps, middles = axes.errorbar(
                line[x],
                line[y],
                yerr=line.get("sd"),
                capsize=3,
                elinewidth=1.3,
                **style,
            )
            for bar in (*caps, *middles):
                bar.set_zorder(ABOVE_NAMES)
        up = f"{y}\n(bars: {bars})" if bars else y
        axes.set(xscale="log", xlabel=x, ylabel=up)
        values = sorted(
            set(points[x])
        )  # of shares: those that were run, which are not quite round numbers
        ticks = (
            values
            if share and len(values) <= MOST_TICKS
            else log_ticks(values[0], values[-1])
        )
        axes.set_xticks(ticks, [written(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ends = [
            (*line[[x, y]].iloc[-1], name, looks[name][0])
            for name, line in lines.items()
        ]
        name_points(axes, ends)

    descriptions = []
    for name, line in lines.items():
        values = [
            f"{up:.2f} at {written(along)}"
            for along, up in zip(line[x], line[y], strict=True)
        ]
        descriptions.append(f"{name}: {', '.join(values)}")
    return Drawing(
        stem,
        title,
        f"{message}. {y} by {x}. {'; '.join(descriptions)}.",
        paint,
        message=message,
        size=(WIDTH, 5.4),
        phone_size=(6.4, 5.4),
        task=task,
    )
