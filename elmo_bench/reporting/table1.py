"""Table 1: the scores of few encoders, and what one of them gains."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pandas as pd

from elmo_bench.reporting.formats import short_gain
from elmo_bench.reporting.layouts.encoders import CONTROLS, leading, parts, scores
from elmo_bench.reporting.names import BASELINE, task_title
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.tables import Format, Line, Table, make_table, with_gains
from elmo_bench.spec.experiments import Experiment

COLUMNS = 4  # encoders of the main table: it fits a page of 1,000 pixels
# The columns of a comparison that `_short` reads, which the frame has for each gain. A
# new one is named here, too.
SHORT_GAIN = (
    "gain",
    "low",
    "high",
    "verdict",
    "conclusion",
    "anchor",
)


def table1(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> Table:
    """The main table, which fits a narrow page: the scores of few encoders, and the
    gain of one with its parts.
    """
    name = leading(experiment, comparisons)
    pairs_ = parts(experiment, name)
    shown = _shown(systems, experiment)
    frame, formats = scores(systems, comparisons, shown)
    for heading, (ours, theirs) in pairs_.items():
        tests = comparisons[
            (comparisons.our_name == ours) & (comparisons.their_name == theirs)
        ]
        tests = with_gains(systems, tests)
        tests = tests[tests.gain.notna()].set_index("basis")
        for column in SHORT_GAIN:
            frame[f"{heading} {column}"] = frame.basis.map(tests[column])
        formats.append(_short(heading))
    suite = systems.suite.iloc[0]
    notes = _notes(systems, comparisons, experiment, shown)
    return make_table(
        f"{suite}-table1", f"Table 1, suite {suite}", frame, formats, notes=notes
    )


def _shown(systems: pd.DataFrame, experiment: Experiment) -> list[str]:
    """The encoders of the main table: those that it names, then those with most tasks;
    no controls.
    """
    named = [variant.key for variant in experiment.variants]
    count = systems.name.value_counts()

    def order(name: str) -> tuple[Any, ...]:
        tasks = 0 if name in named else -count[name]
        return name not in named, tasks, experiment.position(name)

    return sorted(set(systems.name) - set(CONTROLS), key=order)[:COLUMNS]


def _short(heading: str) -> Format:
    """A gain in one decimal with its mark and its interval."""
    prefix = f"{heading} "

    def text(line: Line) -> str:
        return short_gain(line, prefix)

    columns = {"mean": "gain", "low": "low", "high": "high", "verdict": "conclusion"}
    return Format(
        heading,
        text,
        {part: f"{prefix}{column}" for part, column in columns.items()},
        link=f"{prefix}anchor",
        hint=f"{prefix}conclusion",
        verdict=f"{prefix}verdict",
    )


def _notes(
    systems: pd.DataFrame,
    comparisons: pd.DataFrame,
    experiment: Experiment,
    shown: Sequence[str],
) -> list[str]:
    """How many seeds there are, how many tests are adjusted together, and how large a
    gain a tie may hide.
    """
    name = leading(experiment, comparisons)
    notes = []
    if counts := _seed_counts(systems[systems.name.isin(shown)]):
        notes.append(f"Seeds: {counts}.")
    notes.extend(_planned(systems, comparisons, experiment))
    whole = comparisons[
        (comparisons.our_name == name) & (comparisons.their_name == BASELINE)
    ]
    ties = with_gains(systems, whole[whole.verdict == "tie"])
    hidden = []
    for row in rows_of(ties[ties.difference.notna()]):
        title = task_title(row.task)
        hidden.append(f"{row.detectable:.1f} points on {title[0].lower()}{title[1:]}")
    if hidden:
        notes.append(
            "A tie does not show that there is no gain: such a test alone finds a true "
            f"gain of {' and of '.join(hidden)} in 80 of 100 repetitions, "
            "and a smaller one more seldom."
        )
    return notes


def _seed_counts(systems: pd.DataFrame) -> str:
    """Such as `5 (Named entities, Inference); 3 (Coreference)`."""
    titles: dict[str, list[str]] = defaultdict(list)
    for _, group in systems.groupby("basis", sort=False):
        numbers = " or ".join(map(str, sorted(set(group.n))))
        titles[numbers].append(task_title(group.task.iloc[0]))
    return "; ".join(
        f"{numbers} ({', '.join(tasks)})" for numbers, tasks in titles.items()
    )


def _planned(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[str]:
    """Which of the planned primary tests have no runs yet; nothing if all have, or if
    others are shown too.
    """
    name, tasks = leading(experiment, comparisons), experiment.values("task")
    planned = len(tasks) * len(parts(experiment, name))
    tested = int((comparisons.p.notna() & (comparisons.family == "primary")).sum())
    if (
        name != experiment.encoder
        or not set(systems.task) <= set(tasks)
        or not 0 < tested < planned
    ):
        return []
    notes = [
        f"Holm's adjustment is over the {tested} tests that have runs, "
        f"of {planned} that are planned."
    ]
    by_task = {task: set(group.name) for task, group in systems.groupby("task")}
    keys = [variant.key for variant in experiment.variants]
    for task in tasks:
        with_runs = by_task.get(task, set())
        absent = [key for key in keys if key not in with_runs]
        if absent:
            notes.append(
                f"No runs yet on {task_title(task).lower()}: {', '.join(absent)}."
            )
    return notes
