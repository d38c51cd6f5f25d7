"""Table 1: what one encoder gains, in steps; and what others gain in its position."""

from collections import defaultdict
from collections.abc import Sequence

import pandas as pd

from elmo_bench.reporting.formats import gain_column, words
from elmo_bench.reporting.layouts.encoders import leading, scores
from elmo_bench.reporting.names import BASELINE, counted, in_sentence, task_title
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.steps import (
    WHOLE,
    gains_of,
    others_shown,
    step_gains,
    steps,
)
from elmo_bench.reporting.tables import Format, Table, make_table
from elmo_bench.spec.experiments import Experiment


def table1(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> Table | None:
    """The main table, which fits a narrow page: the scores of the baseline and of one
    encoder, and its gain with the steps that make it up; None without runs of either.
    """
    name = leading(experiment, comparisons)
    if systems[systems.name.isin([BASELINE, name])].empty:
        return None
    frame, formats = _scores(systems, comparisons, [BASELINE, name])
    pairs = steps(experiment, name)
    gains = step_gains(systems, comparisons, experiment, name)
    for step, of_step in gains.items():
        ours, theirs = pairs[step]
        formats.append(
            gain_column(frame, f"{step}: {ours} − {theirs}", of_step, "basis")
        )
    suite = systems.suite.iloc[0]
    notes = _notes(systems, comparisons, experiment, pairs)
    return make_table(
        f"{suite}-table1", f"Table 1, suite {suite}", frame, formats, notes=notes
    )


def others_table(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> Table | None:
    """What encoders in the position of the experiment's gain over the baseline, beside
    its own gain; None without any. The control is the last column.
    """
    lead = leading(experiment, comparisons)
    shown = others_shown(systems, experiment, lead)
    gains = {
        name: gains_of(systems, comparisons, (name, BASELINE)).set_index("basis")
        for name in [lead, *shown]
    }
    if all(gains[name].empty for name in shown):
        return None
    frame, formats = _scores(systems, comparisons, [])
    for name, of_name in gains.items():
        formats.append(gain_column(frame, f"{name} − {BASELINE}", of_name, "basis"))
    has_other = pd.concat([gains[name] for name in shown]).index
    frame = frame[frame.basis.isin(has_other)]
    note = (
        f"{lead} − {BASELINE} is judged with the primary tests, the others with "
        "all exploratory ones of table 1 in full "
        f"({_tested(comparisons, 'exploratory')})."
    )
    if any(not frame.basis.isin(of_name.index).all() for of_name in gains.values()):
        note += " An empty cell has no runs yet."
    suite = systems.suite.iloc[0]
    return make_table(
        f"{suite}-others",
        f"Other encoders in the place of {lead}: gains on test, suite {suite}",
        frame,
        formats,
        notes=[note],
    )


def _scores(
    systems: pd.DataFrame, comparisons: pd.DataFrame, names: Sequence[str]
) -> tuple[pd.DataFrame, list[Format]]:
    """A row a task, which says what is scored, with the scores of these encoders."""
    frame, [task, _, *formats] = scores(systems, comparisons, names)
    scored = [
        f"{heading}, {name}"
        for heading, name in zip(frame.heading, frame.metric_name, strict=True)
    ]
    frame = frame.assign(scored=pd.Series(scored, frame.index, object))
    return frame, [words(task.heading, "scored", link=""), *formats]


def _notes(
    systems: pd.DataFrame,
    comparisons: pd.DataFrame,
    experiment: Experiment,
    pairs: dict[str, tuple[str, str]],
) -> list[str]:
    """How many seeds there are, how many tests are judged together, and how large a
    gain a tie may hide.
    """
    shown = {name for pair in pairs.values() for name in pair}
    notes = []
    if counts := _seed_counts(systems[systems.name.isin(shown)]):
        notes.append(f"Seeds: {counts}.")
    notes.extend(_together(systems, comparisons, experiment, pairs))
    notes.extend(_planned(systems, comparisons, experiment, pairs))
    name, _ = pairs[WHOLE]
    whole = gains_of(systems, comparisons, (name, BASELINE))
    hidden = []
    for row in rows_of(whole[whole.verdict == "tie"]):
        title = task_title(row.task)
        hidden.append(f"{row.family_detectable:.1f} points on {in_sentence(title)}")
    if hidden:
        notes.append(
            "A tie does not prove that there is no gain: at the level of Holm's "
            f"procedure for {name} − {BASELINE}, a true gain of "
            f"{' or of '.join(hidden)} comes out as a tie one time in five, "
            "and a smaller one more often."
        )
    return notes


def _together(
    systems: pd.DataFrame,
    comparisons: pd.DataFrame,
    experiment: Experiment,
    pairs: dict[str, tuple[str, str]],
) -> list[str]:
    """Over how many tests the intervals hold together, by family; and how many planned
    ones a family lacks that is not the primary one (for that see `_planned`).
    """
    by_family: dict[str, list[str]] = defaultdict(list)
    for step, pair in pairs.items():
        by_family[experiment.family_of(*pair) or "primary"].append(step)
    tasks = experiment.values("task")
    counts = []
    missing = []
    for family, steps_ in by_family.items():
        count = _tested(comparisons, family)
        if not count:
            continue
        counts.append(f"{count} ({family}: {', '.join(steps_)})")
        left = len(steps_) * len(tasks) - count
        if family != "primary" and left > 0 and set(systems.task) <= set(tasks):
            missing.append(
                f"Marks in the columns {' and '.join(steps_)} may change when "
                f"their {left} missing tests have runs."
            )
    if not counts:
        return []
    return [f"Tests that are judged together: {', '.join(counts)}.", *missing]


def _tested(comparisons: pd.DataFrame, family: str) -> int:
    """How many tests of a family have a verdict."""
    is_tested = (comparisons.verdict != "") & (comparisons.family == family)
    return int(is_tested.sum())


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
    systems: pd.DataFrame,
    comparisons: pd.DataFrame,
    experiment: Experiment,
    pairs: dict[str, tuple[str, str]],
) -> list[str]:
    """Which of the planned primary tests have no runs yet; nothing if all have, or if
    others are shown too.
    """
    name, tasks = leading(experiment, comparisons), experiment.values("task")
    primary = [pair for pair in pairs.values() if not experiment.family_of(*pair)]
    planned = len(tasks) * len(primary)
    tested = _tested(comparisons, "primary")
    if (
        name != experiment.encoder
        or not set(systems.task) <= set(tasks)
        or not 0 < tested < planned
    ):
        return []
    have = "has" if tested == 1 else "have"
    notes = [
        f"Holm's adjustment is over the {counted(tested, 'test')} that {have} runs, "
        f"of {planned} that are planned."
    ]
    by_task = {task: set(group.name) for task, group in systems.groupby("task")}
    keys = [variant.key for variant in experiment.variants]
    needed = {encoder for pair in primary for encoder in pair}
    for task in tasks:
        with_runs = by_task.get(task, set())
        absent = [key for key in keys if key in needed and key not in with_runs]
        if absent:
            notes.append(
                f"No runs yet on {in_sentence(task_title(task))}: {', '.join(absent)}."
            )
    return notes
