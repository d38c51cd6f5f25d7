"""From axes to files: the same drawing gives the same bytes, as SVG and as PNG; matplotlib without its globals."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from elmo_bench.reporting.like import Group
from elmo_bench.reporting.paper import about
from elmo_bench.reporting.select import BASELINE

SURFACE, INK, FAINT, GRID = "#ffffff", "#1c2128", "#646c76", "#dde1e6"
SERIES = ("#1f66c1", "#0a8265", "#a23e9a", "#c0412c", "#5b5bd6", "#8a6d00")  # told apart by their marker too
NAMED = {"none": ("#757d87", "v"), BASELINE: ("#b26a00", "s"), "elmo": (SERIES[0], "o")}
MARKERS = ("D", "^", "P", "X", "h", "*")

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it is searched, read aloud, and takes the page's font
    "svg.hashsalt": "elmo-bench",
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
class Figure:
    """A drawing; `stem` names its files, `alt` says in words what it shows."""

    stem: str
    title: str
    alt: str
    svg: str
    png: bytes
    width: float  # of the SVG, in its own units, which are points
    task: str = ""  # empty where it is of several


def draw(
    stem: str, title: str, alt: str, paint: Callable[[Axes], None], *, size: tuple[float, float], task: str = ""
) -> Figure:
    """`paint` the axes of a figure of so many inches, in the house's style."""
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user's own matplotlibrc says
        mpl.rcParams.update(_STYLE)
        canvas = Canvas(figsize=size, layout="constrained", facecolor=SURFACE)
        paint(canvas.add_subplot())
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")  # it has done its work, and would do it again for each file
        svg, png = io.StringIO(), io.BytesIO()
        FigureCanvasSVG(canvas).print_svg(svg, metadata={"Date": None, "Creator": None, "Title": title})
        canvas.set_dpi(160)
        FigureCanvasAgg(canvas).print_png(png, metadata={"Software": None, "Title": title})
    return Figure(stem, title, alt, svg.getvalue(), png.getvalue(), size[0] * 72, task)


def label(group: Group, between: str = "\n") -> str:
    """The task in words, and what sets the group apart."""
    return between.join(filter(None, [about(group.task, group.suite).title, group.apart]))


def inches(*texts: str) -> float:
    """How long the longest line of these is in the house's font, about."""
    return 0.075 * max(len(line) for text in texts for line in text.splitlines())


def look(encoders: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker by encoder; the usual ones have theirs, wherever they stand."""
    others = [name for name in encoders if name not in NAMED]
    spare = {name: (SERIES[(1 + k) % len(SERIES)], MARKERS[k % len(MARKERS)]) for k, name in enumerate(others)}
    return {name: NAMED.get(name) or spare[name] for name in encoders}
