"""Slices of test: each encoder on words that training or the static vectors lack."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import CLUSTER, RunPaths, of_split, read_outcomes, slices_of
from elmo_bench.ledger.formulas import Formula, Outcomes, formula
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row, baseline_of
from elmo_bench.reporting.significance import Difference, Variance, over_items, over_seeds
from elmo_bench.reporting.statistics import summarise
from elmo_bench.reporting.table import (
    SPREAD,
    Cell,
    Column,
    Line,
    Table,
    interval_cell,
    make_table,
    number,
    spread,
    words,
)
from elmo_bench.reporting.table import seeds as seeds_cell
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

Seeds = dict[int, Outcomes]  # outcomes by seed
Arms = dict[str, Seeds]  # of one slice, by anchor of a row


class Sliced(NamedTuple):
    """A group with the outcomes of its rows by slice."""

    group: Group
    rows: list[Row]
    arms: dict[str, Arms]
    problems: list[str]  # files that cannot be read


def read(groups: Sequence[Group], ledger: Path, *, every: bool = False) -> list[Sliced]:
    """The groups that have slices, of the newest training protocol of each task alone.

    Only runs that compare encoders on all of the data, unless `every`.
    """
    found = [each for group in groups if (each := _read_group(group, ledger, every=every)).arms]
    newest: dict[str, int] = {}
    for each in found:
        newest[each.group.task] = max(newest.get(each.group.task, 0), each.rows[0].spec.protocol)
    return [each for each in found if each.rows[0].spec.protocol == newest[each.group.task]]


def table(suite: str, found: Sequence[Sliced]) -> Table:
    """A row for each task, slice and encoder."""
    pairs = [(each.group.task, line) for each in found for name in TITLES for line in _lines(each, name)]
    notes = [f"Left out: {problem}" for each in found for problem in each.problems]
    tasks, lines = [task for task, _ in pairs], [line for _, line in pairs]
    return make_table(f"{suite}-slices", f"Slices of test, suite {suite}", lines, tasks=tasks, notes=notes)


def _read_group(group: Group, ledger: Path, *, every: bool) -> Sliced:
    comparing = not group.basis.fraction and not group.basis.labels
    plain = [row for row in group.rows if not row.variation and not row.other_vectors]
    rows = _ordered(list(group.rows) if every else plain if comparing else [])
    arms, problems = dict[str, Arms](), []
    for row in rows:
        try:
            for name, seeds in _read(row, ledger).items():
                arms.setdefault(name, {})[row.anchor] = seeds
        except UserError as error:
            problems.append(str(error).replace(f"{ledger}/", ""))
    return Sliced(group, rows, arms, problems)


def _ordered(rows: Sequence[Row]) -> list[Row]:
    """In the order of the main experiment, then by name."""
    order = [str(encoder) for encoder in Experiment.load(MAIN).values("encoder")]
    return sorted(rows, key=lambda row: (order.index(row.encoder) if row.encoder in order else len(order), row.label))


def _read(row: Row, ledger: Path) -> dict[str, Seeds]:
    """By slice, and the whole of test for the same seeds; no slice without a unit. Raises UserError."""
    found: dict[str, Seeds] = {}
    for record in row.records:
        stored, how = read_outcomes(RunPaths.of(ledger, record)), formula(record["formula"], row.spec.task)
        slices = {name: outcomes for name, outcomes in slices_of(stored, "test").items() if how.gold_of(outcomes)}
        if slices:
            slices[WHOLE] = of_split(stored, "test")
        for name, outcomes in slices.items():
            found.setdefault(name, {})[record["seed"]] = outcomes
    return found


def _lines(found: Sliced, name: str) -> list[Line]:
    """One for each row that has this slice."""
    arms, lines = found.arms.get(name, {}), []
    how = formula(found.rows[0].newest["formula"], found.group.task)
    scores = {anchor: [how.score_of(outcomes) for outcomes in seeds.values()] for anchor, seeds in arms.items()}
    variances = {anchor: over_seeds(own) for anchor, own in scores.items()}
    for row in found.rows:
        run = row.anchor
        if run not in arms:
            continue
        seed, outcomes = next(iter(arms[run].items()))
        share = how.gold_of(outcomes) / how.gold_of(found.arms[WHOLE][run][seed])
        baseline = baseline_of(row, found.rows)
        other = baseline.anchor if baseline and baseline.anchor in arms else ""
        gain = fmean(scores[run]) - fmean(scores[other]) if other else None
        pair = _difference(how, arms[run], arms[other], variances[run], variances[other]) if other else None
        lines.append(
            {
                Column("task", words=True): words(found.group.heading),
                Column("slice", words=True): words(TITLES[name]),
                Column("share"): number(100 * share, ".1f", suffix=" %"),
                Column("encoder", words=True): words(row.label, run=run),
                Column("seeds"): seeds_cell(list(arms[run]), run),
                Column("score", SPREAD): spread(summarise(scores[run]), run=run, mark=row.mark),
                Column(f"gain over {BASELINE}"): number(gain, "+.2f", run=run),
                Column("95 %", ("low", "high")): interval_cell(pair.interval, run=run) if pair else Cell(""),
            }
        )
    return lines


def _difference(
    how: Formula, ours: Seeds, theirs: Seeds, one: Variance | None, other: Variance | None
) -> Difference | None:
    """None for single seeds, for slices of other units, and for too few units."""
    sides = [[*arm.values()] for arm in (ours, theirs)]
    clusters = [outcomes.get(CLUSTER, np.arange(0)) for arm in sides for outcomes in arm]
    if one is None or other is None or any(not np.array_equal(each, clusters[0]) for each in clusters[1:]):
        return None
    left, right = (np.stack([how.counts_of(outcomes) for outcomes in arm]) for arm in sides)
    try:
        items = over_items(left, right, how.score, clusters[0] if len(clusters[0]) else None)
    except ValueError:
        return None
    return Difference.of(items, (one, other))
