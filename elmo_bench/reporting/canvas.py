"""From axes to SVG and PNG. The same drawing gives the same bytes, whatever matplotlib's global settings are."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.tasks import task_info

SURFACE, INK, FAINT, GRID = "#ffffff", "#1c2128", "#646c76", "#dde1e6"
SERIES = ("#1f66c1", "#0a8265", "#a23e9a", "#c0412c", "#5b5bd6", "#8a6d00")  # markers differ too
DARK, LIGHT = "#10151c", "#fdfdfd"  # on the cells of a heat map, whether the page is light or dark
NAMED = {"none": ("#757d87", "v"), BASELINE: ("#b26a00", "s"), "elmo": (SERIES[0], "o")}
MARKERS = ("D", "^", "P", "X", "h", "*")

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it is searched, read aloud, and takes the page's font
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that it is the same everywhere
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.7,
}


@dataclass(frozen=True)
class Drawing:
    """A figure; `stem` names its files, `alt` describes it in words. It is drawn when a file of it is first needed."""

    stem: str
    title: str
    alt: str
    paint: Callable[[Axes], None]
    size: tuple[float, float] = field(kw_only=True)  # inches
    task: str = field(default="", kw_only=True)  # empty if it shows several

    @property
    def svg(self) -> str:
        """The file as text, which a page may contain."""
        return self._files[0]

    @property
    def png(self) -> bytes:
        """The file, at 160 dots an inch."""
        return self._files[1]

    @property
    def width(self) -> float:
        """Of the SVG, in points."""
        return self.size[0] * 72

    @cached_property
    def _files(self) -> tuple[str, bytes]:
        with mpl.rc_context():
            mpl.rcdefaults()  # whatever the user's own matplotlibrc says
            mpl.rcParams.update(_STYLE)
            canvas = Figure(figsize=self.size, layout="constrained", facecolor=SURFACE)
            self.paint(canvas.add_subplot())
            canvas.draw_without_rendering()
            canvas.set_layout_engine("none")  # done once, not for each file
            svg, png = io.StringIO(), io.BytesIO()
            FigureCanvasSVG(canvas).print_svg(svg, metadata={"Date": None, "Creator": None, "Title": self.title})
            canvas.set_dpi(160)
            FigureCanvasAgg(canvas).print_png(png, metadata={"Software": None, "Title": self.title})
        return _numbered(svg.getvalue()), png.getvalue()


def _numbered(svg: str) -> str:
    """`svg` with numbers in the ids that matplotlib makes by hashing coordinates.

    Their last bits, which are not printed, differ from one processor to another.
    """
    hashed = dict.fromkeys(re.findall(r'\bid="([A-Za-z]+)([0-9a-f]{10})"', svg))
    names = {kind + digits: f"{kind}{number}" for number, (kind, digits) in enumerate(hashed, 1)}
    return re.sub(r'(\bid="|#)([A-Za-z]+[0-9a-f]{10})\b', lambda found: found[1] + names.get(found[2], found[2]), svg)


def label(group: Group, between: str = "\n") -> str:
    """The task in words, and what sets the group apart."""
    return between.join(filter(None, [task_info(group.task, group.suite).title, group.note]))


def inches(*texts: str) -> float:
    """About how long the longest line is in this font."""
    return 0.075 * max(len(line) for text in texts for line in text.splitlines())


def look(encoders: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker by encoder; the usual encoders always have the same."""
    others = [name for name in encoders if name not in NAMED]
    spare = {name: (SERIES[(1 + k) % len(SERIES)], MARKERS[k % len(MARKERS)]) for k, name in enumerate(others)}
    return {name: NAMED.get(name) or spare[name] for name in encoders}


def small(title: str) -> tuple[float, float]:
    """Inches: small enough for several in a row and for a phone; larger for a long title."""
    return max(3.7, 0.7 + 1.25 * inches(title)), 2.7 + 0.17 * title.count("\n")


def bare(axes: Axes) -> None:
    """No grid, ticks and lines at the left and below, around the cells of a heat map."""
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def line(axes: Axes, xs: Sequence[float], rows: Sequence[Row], style: tuple[str, str], name: str) -> None:
    """Means with one standard deviation to either side."""
    found = [row.summary("test") for row in rows]
    axes.errorbar(
        xs, [s.mean for s in found], yerr=[s.sd or 0.0 for s in found], color=style[0], marker=style[1], capsize=2.5,
        elinewidth=1.1, label=name,
    )  # fmt: skip
