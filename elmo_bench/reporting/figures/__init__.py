"""Figures, drawn with matplotlib: one function each, from rows to a `Drawing` (SVG, PNG and words)."""

from elmo_bench.reporting.figures.canvas import Drawing
from elmo_bench.reporting.figures.curves import efficiency, learning_curves, line_figure
from elmo_bench.reporting.figures.gains import gains_figure
from elmo_bench.reporting.figures.heat import layer_figures

__all__ = ["Drawing", "efficiency", "gains_figure", "layer_figures", "learning_curves", "line_figure"]
