"""From axes to SVG and PNG. The same drawing gives the same bytes, whatever matplotlib's global settings are."""

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from elmo_bench.reporting.groups import percent
from elmo_bench.reporting.table import Table

SURFACE, INK, FAINT, GRID = "#ffffff", "#1c2128", "#646c76", "#dde1e6"
# Of encoders, in a page's dark mode others: blue, green, purple, red, violet, olive.
SERIES = ("#1f66c1", "#0a8265", "#a23e9a", "#c0412c", "#5b5bd6", "#8a6d00")
STATIC, NO_VECTORS = "#b26a00", "#757d87"
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

    @cached_property
    def _files(self) -> tuple[str, bytes]:
        with mpl.rc_context():
            mpl.rcdefaults()  # whatever the user's own matplotlibrc says
            mpl.rcParams.update(mpl.rc_params_from_file(_STYLE, use_default_template=False))
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
    return re.sub(r'(\bid="|#)([A-Za-z]+[0-9a-f]{10})\b', lambda id_: id_[1] + names.get(id_[2], id_[2]), svg)


Made = tuple[list[Table], list[Drawing]]


def inches(*texts: str) -> float:
    """About how long the longest line is in this font."""
    return 0.075 * max(len(line) for text in texts for line in text.splitlines())


def look(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker by name, the same in every figure: whatever other names are in it."""
    spare = [each for each in SPARE if each not in NAMED.values()]
    return {name: NAMED.get(name) or spare[crc32(name.encode()) % len(spare)] for name in names}


def chart(
    stem: str,
    title: str,
    points: pd.DataFrame,
    *,
    heading: str = "",
    share: bool = False,
    steps: bool = False,
    task: str = "",
) -> Drawing:
    """Lines over a logarithmic axis. `share`: x is one, and shown in percent; `steps`: y holds until the next x.

    points: columns with the name of a line, x and y, called as the axes; and `sd` of y, if there is one.
    """
    by, x, y = points.columns[:3]
    lines = {name: own.sort_values(x) for name, own in points.groupby(by, sort=False)}
    looks = look(list(lines))

    def paint(axes: Axes) -> None:
        for name, own in lines.items():
            colour, marker = looks[name]
            style: dict[str, Any] = {"color": colour, "marker": marker, "label": name}
            style |= {"drawstyle": "steps-post", "markevery": [-1]} if steps else {}
            axes.errorbar(own[x], own[y], yerr=own.get("sd"), capsize=2.5, elinewidth=1.1, **style)
        scale: dict[str, Any] = {"value": "symlog", "linthresh": points[x][points[x] > 0].min()}
        axes.set_xscale(**(scale if (points[x] == 0).any() else {"value": "log"}))
        if share:
            axes.xaxis.set_major_locator(LogLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: percent(at)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(title=heading, xlabel=x, ylabel=y)
        axes.figure.legend(loc="outside lower left", ncols=2)

    def told(own: pd.DataFrame) -> str:
        pairs = zip(own[x], own[y], strict=True)
        return ", ".join(f"{up:.2f} at {percent(at) if share else f'{at:,g}'}" for at, up in pairs)

    said = "; ".join(f"{name}: {told(own)}" for name, own in lines.items())
    width = max(3.7, 0.7 + 1.25 * inches(heading or " "), 1.2 + 2 * inches(*lines))
    height = 2.8 + 0.17 * (heading.count("\n") + len(lines) * 0.5)
    return Drawing(stem, title, f"{y} by {x}. {said}.".replace("\n", ", "), paint, size=(width, height), task=task)
