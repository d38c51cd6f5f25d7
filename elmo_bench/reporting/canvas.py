"""From axes to SVG and PNG. The same drawing gives the same bytes, whatever matplotlib's global settings are."""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor, log10
from pathlib import Path
from textwrap import fill
from typing import Any
from zlib import crc32

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from elmo_bench.reporting.groups import percent
from elmo_bench.reporting.table import Table

WIDTH = 10.0  # inches of a figure
MOST_TICKS = 6
SURFACE, INK, FAINT, GRID = "#ffffff", "#1c2128", "#646c76", "#dde1e6"
# Of encoders, in a page's dark mode others: blue, green, purple, red, violet, olive.
SERIES = ("#1f66c1", "#0a8265", "#a23e9a", "#c0412c", "#5b5bd6", "#8a6d00")
STATIC, NO_VECTORS = "#a96500", "#6f7780"
NAMED = {  # colour and marker of every encoder that ships; variations of one encoder have its colour
    "none": (NO_VECTORS, "v"),
    "glove": (STATIC, "s"),
    "fasttext": (STATIC, "p"),
    "elmo": (SERIES[0], "o"),
    "elmo_only": (SERIES[0], "^"),
    "elmo_bert_mini": (SERIES[0], "*"),
    "elmo_word": (SERIES[1], "D"),
    "elmo_characters": (SERIES[1], "^"),
    "minilm": (SERIES[2], "P"),
    "hf": (SERIES[2], "h"),
    "bert_mini": (SERIES[3], "h"),
    "bert_mini_only": (SERIES[3], "^"),
    "random": (SERIES[4], "X"),
    "random_only": (SERIES[4], "^"),
    "cove": (SERIES[5], "p"),
    "precomputed": (SERIES[5], "d"),
}
SPARE = [(colour, marker) for marker in "<>8DPXh*" for colour in SERIES]  # of encoders that users name

_STYLE = Path(__file__).with_name("figures.mplstyle")


@dataclass(frozen=True)
class Drawing:
    """A figure; `stem` names its files, `alt` describes it in words. It is drawn when a file of it is first needed."""

    stem: str
    title: str
    alt: str
    paint: Callable[[Axes], None]
    message: str = field(default="", kw_only=True)  # its heading: what it shows, in a sentence
    size: tuple[float, float] = field(kw_only=True)  # inches
    task: str = field(default="", kw_only=True)  # empty if it shows several
    narrow: "Drawing | None" = field(default=None, kw_only=True)  # what a page shows instead on a phone

    @property
    def svg(self) -> str:
        """The file as text, which a page may contain."""
        return self._files[0]

    @property
    def png(self) -> bytes:
        """The file, 1,600 pixels wide."""
        return self._files[1]

    @cached_property
    def _files(self) -> tuple[str, bytes]:
        with mpl.rc_context():
            mpl.rcdefaults()  # whatever the user's own matplotlibrc says
            mpl.rcParams.update(mpl.rc_params_from_file(_STYLE, use_default_template=False))
            canvas = Figure(figsize=self.size, layout="constrained", facecolor=SURFACE)
            self.paint(canvas.add_subplot())
            if self.message:
                canvas.suptitle(fill(self.message, round(self.size[0] * 7.7)), x=0.01, ha="left")
            canvas.draw_without_rendering()
            canvas.set_layout_engine("none")  # done once, not for each file
            svg, png = io.StringIO(), io.BytesIO()
            FigureCanvasSVG(canvas).print_svg(svg, metadata={"Date": None, "Creator": None, "Title": self.title})
            canvas.set_dpi(1600 / self.size[0])
            FigureCanvasAgg(canvas).print_png(png, metadata={"Software": None, "Title": self.title})
        return _numbered(svg.getvalue()), png.getvalue()


def _numbered(svg: str) -> str:
    """`svg` with numbers in the ids that matplotlib makes by hashing coordinates.

    Their last bits, which are not printed, differ from one processor to another.
    """
    hashed = dict.fromkeys(re.findall(r'\bid="([A-Za-z]+)([0-9a-f]{10})"', svg))
    names = {kind + digits: f"{kind}{number}" for number, (kind, digits) in enumerate(hashed, 1)}
    return re.sub(r'(\bid="|#)([A-Za-z]+[0-9a-f]{10})\b', lambda id_: id_[1] + names.get(id_[2], id_[2]), svg)


Made = tuple[list[Table], list[Drawing]]


def look(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker by name, the same in every figure: whatever other names are in it."""
    spare = [each for each in SPARE if each not in NAMED.values()]
    return {name: NAMED.get(name) or spare[crc32(name.encode()) % len(spare)] for name in names}


def name_points(axes: Axes, points: Iterable[tuple[float, float, str, str]]) -> None:
    """Write names, each (x, y, name, colour), to the right of their points; those that would overlap move up.

    The limits of the axes must be final.
    """
    wide, high = (pixels / axes.figure.dpi for pixels in axes.bbox.size)  # before the layout; about so after it
    to_axes, names = axes.transData - axes.transAxes, []
    for x, y, name, colour in points:
        text = fill(name, 26)
        own = 0.24 * (text.count("\n") + 1) / high
        inches = 0.11 * max(map(len, text.splitlines()))  # about so long is it in this font
        names.append([*to_axes.transform((x, y)), inches / wide, own, text, colour, (x, y)])
    names.sort(key=lambda name: name[1])
    starts = [name[1] for name in names]
    for at, one in enumerate(names):  # each above those that it would overlap
        beside = [other for other in names[:at] if one[0] < other[0] + other[2] and other[0] < one[0] + one[2]]
        one[1] = max([one[1], *(other[1] + (one[3] + other[3]) / 2 for other in beside)])
    for (x, y, *_, text, colour, point), start in zip(names, starts, strict=True):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 5}
        axes.annotate(
            text, point, (x + 0.025, y), textcoords="axes fraction", va="center", color=colour, annotation_clip=False,
            arrowprops=line if abs(y - start) > 0.01 else None,
        )  # fmt: skip


def lanes(axes: Axes, names: Sequence[str]) -> None:
    """A lane for each name, from top to bottom, on both sides of zero."""
    axes.set_yticks(range(len(names)), names)
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def log_ticks(low: float, high: float) -> list[float]:
    """At most six round numbers in a range or just below, for a logarithmic axis; if there are not two, the range."""
    ticks: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        powers = range(floor(log10(low)), ceil(log10(high)) + 1)
        ticks = [at for k in powers for digit in digits if 0.9 * low <= (at := float(f"{digit}e{k}")) <= high]
        if len(ticks) <= MOST_TICKS:
            break
    return ticks[:: ceil(len(ticks) / MOST_TICKS)] if len(ticks) > 1 else [low, high]


def chart(
    stem: str,
    title: str,
    points: pd.DataFrame,
    *,
    message: str,
    share: bool = False,
    steps: bool = False,
    task: str = "",
) -> Drawing:
    """Lines over a logarithmic axis, named at their ends. `share`: x is one; `steps`: y holds until the next x.

    points: columns with the name of a line, x and y, called as the axes; and `sd` of y, if there is one.
    """
    by, x, y = points.columns[:3]
    lines = {name: own.sort_values(x) for name, own in points.groupby(by, sort=False)}
    looks = look(lines)

    def written(at: float) -> str:
        return percent(at) if share else f"{at:,.0f}"

    def paint(axes: Axes) -> None:
        for name, own in lines.items():
            colour, marker = looks[name]
            style: dict[str, Any] = {"color": colour, "marker": marker}
            style |= {"drawstyle": "steps-post", "markevery": [-1]} if steps else {}
            axes.errorbar(own[x], own[y], yerr=own.get("sd"), capsize=3, elinewidth=1.3, **style)
        axes.set(xscale="log", xlabel=x, ylabel=y)
        own = sorted({*points[x]})  # of shares: those that were run, which are not quite round numbers
        ticks = own if share and len(own) <= MOST_TICKS else log_ticks(own[0], own[-1])
        axes.set_xticks(ticks, [written(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        name_points(axes, [(*own[[x, y]].iloc[-1], name, looks[name][0]) for name, own in lines.items()])

    told = [
        f"{name}: " + ", ".join(f"{up:.2f} at {written(at)}" for at, up in zip(own[x], own[y], strict=True))
        for name, own in lines.items()
    ]
    alt = f"{message}. {y} by {x}. {'; '.join(told)}."
    narrow = Drawing(f"{stem}-phone", title, alt, paint, message=message, size=(6.4, 5.4))
    return Drawing(stem, title, alt, paint, message=message, size=(WIDTH, 5.4), task=task, narrow=narrow)
