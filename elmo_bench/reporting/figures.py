"""From axes to SVG. The same drawing gives the same bytes, whatever
matplotlib's global settings are.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from textwrap import fill
from zlib import crc32

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from elmo_bench.spec.experiments import Experiment

WIDTH = 10.0  # inches of a figure
SURFACE = "#ffffff"
INK = "#1c2128"
FAINT = "#646c76"
GRID = "#dde1e6"
# Of encoders, in a page's dark mode others: blue, green, purple, red, violet, olive.
SERIES = ("#1f66c1", "#0a8265", "#a23e9a", "#c0412c", "#5b5bd6", "#8a6d00")
STATIC, NO_VECTORS = "#a96500", "#6f7780"
# colour and marker of every encoder that ships; variations of one encoder have its
# colour
NAMED = {
    "none": (NO_VECTORS, "v"),
    "glove": (STATIC, "s"),
    "fasttext": (STATIC, "p"),
    "tfidf": (NO_VECTORS, "<"),
    "features": (NO_VECTORS, ">"),
    "elmo": (SERIES[0], "o"),
    "elmo_alone": (SERIES[0], "s"),
    "elmo_only": (SERIES[0], "^"),
    "elmo_bert_mini": (SERIES[0], "*"),
    "elmo_word": (SERIES[1], "D"),
    "elmo_characters": (SERIES[1], "^"),
    "minilm": (SERIES[2], "P"),
    "mpnet": (SERIES[2], "D"),
    "hf": (SERIES[2], "h"),
    "bert_mini": (SERIES[3], "h"),
    "bert_mini_only": (SERIES[3], "^"),
    "random": (SERIES[4], "X"),
    "random_only": (SERIES[4], "^"),
    "cove": (SERIES[5], "p"),
    "precomputed": (SERIES[5], "d"),
}
# Of encoders that users name.
SPARE = [(colour, marker) for marker, colour in product("<>8DPXh*", SERIES)]

_STYLE = Path(__file__).with_name("figures.mplstyle")


@dataclass(frozen=True)
class Drawing:
    """A figure; `stem` names its files, `alt` describes it in words. It is drawn when a
    file of it is first needed.
    """

    stem: str
    title: str
    alt: str
    # the axes, and whether the drawing is for a phone
    paint: Callable[[Axes, bool], None]
    # its heading: what it shows, in a sentence
    message: str = field(default="", kw_only=True)
    size: tuple[float, float] = field(kw_only=True)  # inches
    phone_size: tuple[float, float] | None = field(
        default=None, kw_only=True
    )  # None: no drawing for a phone
    task: str = field(default="", kw_only=True)  # empty if it shows several

    @cached_property
    def svg(self) -> str:
        """The file as text, which a page may contain."""
        with style():
            return self._svg_of(self.canvas(self.size, phone=False))

    @cached_property
    def phone_svg(self) -> str:
        """What a page shows instead on a phone; empty if that is the same."""
        if self.phone_size is None:
            return ""
        with style():
            return self._svg_of(self.canvas(self.phone_size, phone=True))

    def canvas(self, size: tuple[float, float], *, phone: bool) -> Figure:
        """The drawing before it is a file, in the project's `style`."""
        canvas = Figure(figsize=size, layout="constrained", facecolor=SURFACE)
        self.paint(canvas.add_subplot(), phone)
        if self.message:
            canvas.suptitle(fill(self.message, round(size[0] * 7.7)), x=0.01, ha="left")
        # The layout alone: `draw_without_rendering` would also draw, which takes as
        # long as the drawing that is kept.
        engine = canvas.get_layout_engine()
        assert engine is not None
        engine.execute(canvas)
        canvas.set_layout_engine("none")  # done once, not for each file
        return canvas

    def _svg_of(self, canvas: Figure) -> str:
        svg = io.StringIO()
        metadata = {"Date": None, "Creator": None, "Title": self.title}
        FigureCanvasSVG(canvas).print_svg(svg, metadata=metadata)
        return _numbered(svg.getvalue())


@contextmanager
def style() -> Iterator[None]:
    """The project's style, whatever the user's own matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(_STYLE, use_default_template=False))
        yield


MakeFigures = Callable[[pd.DataFrame, pd.DataFrame, Experiment], list[Drawing]]
_MAKERS: dict[str, MakeFigures] = {}


def figure(layout: str) -> Callable[[MakeFigures], MakeFigures]:
    """Make a function of systems, comparisons and an experiment the figures of this
    layout.
    """

    def register(function: MakeFigures) -> MakeFigures:
        _MAKERS[layout] = function
        return function

    return register


def figures_of(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Drawing]:
    """The figures of an experiment; none if its layout, which has been imported, has
    none.
    """
    make = _MAKERS.get(experiment.layout)
    return make(systems, comparisons, experiment) if make else []


def _numbered(svg: str) -> str:
    """`svg` with numbers in the ids that matplotlib makes by hashing coordinates.

    Their last bits, which are not printed, differ from one processor to another.
    """
    hashed = dict.fromkeys(re.findall(r'\bid="([A-Za-z]+)([0-9a-f]{10})"', svg))
    names = {
        kind + digits: f"{kind}{number}"
        for number, (kind, digits) in enumerate(hashed, 1)
    }
    return re.sub(
        r'(\bid="|#)([A-Za-z]+[0-9a-f]{10})\b',
        lambda id_: id_[1] + names.get(id_[2], id_[2]),
        svg,
    )


def look(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker by name, the same in every figure: whatever other names are in
    it.
    """
    spare = [style for style in SPARE if style not in NAMED.values()]
    return {
        name: NAMED.get(name) or spare[crc32(name.encode()) % len(spare)]
        for name in names
    }


def lanes(
    axes: Axes, names: Sequence[str], middles: Sequence[float] | None = None
) -> None:
    """A lane for each name, from top to bottom, on both sides of zero.

    middles: their heights; without them 0, 1, and so on.
    """
    axes.set_yticks(range(len(names)) if middles is None else middles, names)
    axes.axvline(0, color=FAINT, linewidth=1)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
