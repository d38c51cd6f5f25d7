"""The tables and figures of an experiment, one module for each layout: which rows they show, and how they are compared.

`encoders` (tasks by encoders), `variants` (a table a task, or also a line), `fractions` (scores by amount of data),
`weights` (of the layers), `layers` (one at a time, for every probe), `tuning` (learning rates), `speed` (scores by
training step): each has `made`, which makes all of them for a suite. `runs` lists every run.
"""

from elmo_bench.reporting.canvas import Drawing
from elmo_bench.reporting.table import Table

Made = tuple[list[Table], list[Drawing]]
