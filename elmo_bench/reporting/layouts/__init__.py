"""The tables and figures of an experiment, one module for each layout: which rows they show, and how they are compared.

`encoders` (tasks by encoders), `variants` (a table a task, or also a line), `fractions` (learning curves), `weights`
(of the layers), `layers` (one at a time, for every probe): each has `made`, which makes all of them for a suite. `runs`
lists every run.
"""

from elmo_bench.reporting.canvas import Drawing
from elmo_bench.reporting.table import Table

Made = tuple[list[Table], list[Drawing]]
