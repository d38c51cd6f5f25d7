"""A table a task: encoders frozen and tuned, each tuned one over the same encoder
frozen, with what a run takes."""

import pandas as pd

from elmo_bench.reporting.formats import gain_formats, number, score, seeds, words
from elmo_bench.reporting.layouts.variants import pairs, select
from elmo_bench.reporting.tables import Table, make_table, table, with_gains
from elmo_bench.spec.experiments import Experiment

NOTE = (
    "Exploratory, and judged on test. The learning rate of a tuned encoder was chosen "
    "on dev; the head's rate and the epochs are those of the frozen runs. Minutes are "
    "of processor time, on a GPU of wall time; those of a frozen encoder whose layers "
    "were stored by an earlier run have no reading of it."
)


@table("tuned", select=select, pairs=pairs, split="test")
def tuned(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Table]:
    """A table for each group. The tests of all tables are one family."""
    tables = []
    for _, rows in with_gains(systems, comparisons).groupby("basis", sort=False):
        first = rows.iloc[0]
        formats = [
            words(experiment.heading, "line"),
            score("dev", first.metric_name),
            score("test", first.metric_name),
            seeds(),
            *gain_formats(experiment.over),
            number("trainable", "trainable", ","),
            number("minutes a run", "work_minutes", ".1f"),
        ]
        title = f"{experiment.caption}: {first.heading}, suite {first.suite}"
        stem = f"{first.stem}-{experiment.name}"
        tables.append(make_table(stem, title, rows, formats, notes=[NOTE]))
    return tables
