"""Tables of every run, whatever it changed, and what runs took."""

from collections import defaultdict

import pandas as pd

from elmo_bench.base.metric import MACRO_F1
from elmo_bench.reporting.formats import (
    gain_formats,
    number,
    paper_figures,
    score,
    seeds,
    spread,
    words,
)
from elmo_bench.reporting.layouts.encoders import over_baseline
from elmo_bench.reporting.names import counted
from elmo_bench.reporting.remarks import mixed_code
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.tables import EXPLORATORY, Table, make_table, with_gains
from elmo_bench.spec.experiments import MAIN, Experiment

BEST = 20  # runs of a table that are always shown
RUNS = "runs"  # the purpose of tests that table 1 does not make


def all_runs(
    group: pd.DataFrame, runs: pd.DataFrame, comparisons: pd.DataFrame
) -> Table:
    """Every system of a group, whatever it changed. Gains over the baseline are as
    table 1 adjusts them, if it does.
    """
    of_table1 = over_baseline(comparisons[comparisons.purpose == MAIN])
    others = comparisons[comparisons.purpose == RUNS]
    table = with_gains(group, pd.concat([of_table1, others]))
    first = group.iloc[0]
    paper = None if first.fraction else Experiment.load(MAIN).paper.get(first.task)
    keys = ["" if spec.changes else spec.encoder for spec in table.spec]
    table, printed = paper_figures(table, paper, keys)
    macro = [] if first.metric == MACRO_F1 else [spread("test macro-F1", "macro_f1")]
    formats = [
        words("run", "run_label"),
        score("dev", first.metric_name),
        score("test", first.metric_name),
        seeds(),
        *macro,
        *gain_formats(),
        number("trainable", "trainable", ","),
        number("minutes a run", "work_minutes", ".1f"),
        *printed,
    ]
    amount = first.amount or "all of the data"
    title = f"{first.home_heading}, suite {first.suite}: all runs on {amount}"
    own_runs = runs[runs.hash.isin(group.hash)]
    notes = [EXPLORATORY, spent(own_runs), *mixed_code(own_runs)]
    return make_table(
        f"{first.stem}-runs", title, table, formats, notes=notes, most=BEST
    )


def spent(runs: pd.DataFrame) -> str:
    """A sentence: the core-hours of these runs on processors, and the hours on each
    kind of GPU.

    A core-hour is an hour of processor time. Several runs may have shared a GPU, each
    with all of its hours.
    """
    hours: defaultdict[str, float] = defaultdict(float)
    for run in rows_of(runs):
        unit = "core-hours" if run.device == "cpu" else f"hours on {run.device}"
        hours[unit] += run.work_minutes / 60
    amounts = " and ".join(
        f"{number_:,.1f} {unit}" for unit, number_ in sorted(hours.items())
    )
    return (
        f"The run took {amounts}."
        if len(runs) == 1
        else f"{counted(len(runs))} took {amounts}."
    )
