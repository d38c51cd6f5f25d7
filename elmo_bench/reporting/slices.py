"""Slices of test: each encoder on words that training or the static vectors lack, from the outcomes of its records."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import CLUSTER, RunPaths, of_split, read_outcomes, slices_of
from elmo_bench.ledger.outcomes import Outcomes
from elmo_bench.reporting.gains import formula_of
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row, baseline_of
from elmo_bench.reporting.significance import Difference, over_items, over_seeds, summarise
from elmo_bench.reporting.table import Line, Table, interval, make_table, number, seeds, spread, words
from elmo_bench.spec.experiments import MAIN, Experiment

WHOLE = "all of test"
TITLES = {
    WHOLE: WHOLE,
    "unseen": "a word unseen in training",
    "seen": "no word unseen in training",
    "novector": "a word without a static vector",
    "vector": "every word has a static vector",
}
ABOUT = (
    "The scores of finished runs on parts of test. A slice has the units with such a word: what the task's metric "
    "counts (entities, chains, words) or else whole examples. The share is of gold units. Scores of two slices are of "
    "different units, so compare encoders within a slice. Exploratory: no verdicts."
)

Arms = dict[str, list[Outcomes]]  # of one slice: the outcomes of each seed, by anchor of a row


class Sliced(NamedTuple):
    """A group with the outcomes of its rows by slice."""

    group: Group
    rows: list[Row]
    arms: dict[str, Arms]
    problems: list[str]  # files that cannot be read


def made(suite: str, groups: Sequence[Group], ledger: Path) -> list[Table]:
    """A row for each task, slice and encoder, of the newest training protocol of each task; none without slices.

    Only runs that compare encoders on all of the data.
    """
    sliced = [each for group in groups if (each := _sliced(group, ledger)).arms]
    newest: dict[str, int] = {}
    for each in sliced:
        newest[each.group.task] = max(newest.get(each.group.task, 0), each.rows[0].spec.protocol)
    sliced = [each for each in sliced if each.rows[0].spec.protocol == newest[each.group.task]]
    pairs = [(each.group.task, line) for each in sliced for name in TITLES for line in _lines(each, name)]
    notes = [f"Left out: {problem}" for each in sliced for problem in each.problems]
    tasks, lines = [task for task, _ in pairs], [line for _, line in pairs]
    title = f"Slices of test, suite {suite}"
    return [make_table(f"{suite}-slices", title, lines, tasks=tasks, notes=notes)] if lines else []


def _sliced(group: Group, ledger: Path) -> Sliced:
    comparing = not group.basis.fraction and not group.basis.labels
    order = [str(encoder) for encoder in Experiment.load(MAIN).values("encoder")]
    rows = [row for row in group.rows if comparing and not row.variation and not row.other_vectors]
    rows.sort(key=lambda row: (order.index(row.encoder) if row.encoder in order else len(order), row.label))
    arms, problems = dict[str, Arms](), list[str]()
    for row in rows:
        how = formula_of(row.newest)
        try:
            for stored in [read_outcomes(RunPaths.of(ledger, record)) for record in row.records]:
                slices = {name: own for name, own in slices_of(stored, "test").items() if how.gold_of(own)}
                for name, own in (slices | ({WHOLE: of_split(stored, "test")} if slices else {})).items():
                    arms.setdefault(name, {}).setdefault(row.anchor, []).append(own)
        except UserError as error:
            problems.append(str(error).replace(f"{ledger}/", ""))
            for own_arms in arms.values():
                own_arms.pop(row.anchor, None)
    return Sliced(group, rows, {name: own for name, own in arms.items() if own}, problems)


def _lines(sliced: Sliced, name: str) -> list[Line]:
    """One for each row that has this slice."""
    arms, lines = sliced.arms.get(name, {}), list[Line]()
    for row in (row for row in sliced.rows if row.anchor in arms):
        run, how = row.anchor, formula_of(row.newest)
        baseline = baseline_of(row, [other for other in sliced.rows if other.anchor in arms])
        theirs = arms[baseline.anchor] if baseline else []
        scores, other = ([how.score_of(outcomes) for outcomes in arm] for arm in (arms[run], theirs))
        tested = _difference(row, arms[run], theirs) if theirs else None
        share = how.gold_of(arms[run][0]) / how.gold_of(sliced.arms[WHOLE][run][0])
        lines.append(
            {
                "task": words(sliced.group.heading),
                "slice": words(TITLES[name]),
                "share": number(100 * share, ".1f", suffix=" %"),
                "encoder": words(row.label, run=run),
                "seeds": seeds(row),
                "score": spread(summarise(scores), run=run, mark=row.mark),
                f"gain over {BASELINE}": number(fmean(scores) - fmean(other) if other else None, "+.2f", run=run),
                **({"95 %": interval(tested.interval, run=run)} if tested else {}),
            }
        )
    return lines


def _difference(row: Row, *arms: Sequence[Outcomes]) -> Difference | None:
    """None for single seeds, for slices of other units, and for too few units."""
    how, clusters = formula_of(row.newest), [each.get(CLUSTER, np.arange(0)) for arm in arms for each in arm]
    one, other = (over_seeds([how.score_of(outcomes) for outcomes in arm]) for arm in arms)
    if one is None or other is None or any(not np.array_equal(each, clusters[0]) for each in clusters[1:]):
        return None
    left, right = (np.stack([how.counts_of(outcomes) for outcomes in arm]) for arm in arms)
    try:
        return Difference.of(
            over_items(left, right, how.score, clusters[0] if len(clusters[0]) else None), (one, other)
        )
    except ValueError:
        return None
