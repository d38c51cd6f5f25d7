"""What a system gains over another, and whether that holds over seeds and items."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import nan, sqrt
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import (
    TYPE,
    Counting,
    Counts,
    columns,
    main_figure,
    summed_names,
    summed_types,
)
from elmo_bench.ledger import CLUSTER, of_split
from elmo_bench.reporting.families import judged_together
from elmo_bench.reporting.names import NOT_CHECKED, UNCHECKED, UNCONVERGED
from elmo_bench.reporting.outcomes import CachedOutcomes, ReadOutcomes
from elmo_bench.reporting.rows import (
    rows_of,
    with_plain_texts,
    with_texts_of_python,
)
from elmo_bench.reporting.significance import (
    DIGITS,
    Difference,
    Variance,
    difference,
    over_seeds,
    relative_reduction,
)
from elmo_bench.spec.names import metric_of

MARKS = {"ahead": "▲", "behind": "▼", "tie": "=", "": ""}  # of a verdict
# The columns of runs that a test reads: selecting from all columns takes longer.
_OF_RUNS = [
    *("hash", "seed", "spec", "paths", "dev", "test", "converged", "checked"),
    *("suite", "task", "version", "data", "metric", "basis", "drawn"),
]
# Of a test: counts of items, over all runs. A gibibyte, of which a test needs a few.
MOST_NUMBERS = 2**27


class Comparison(NamedTuple):
    """The columns that `compare` adds to a pair of systems: ours minus theirs on one
    split.
    """

    gain: float  # of the means over all seeds that count
    test_gain: float
    # the relative error reduction in percent; NaN if they make no errors
    reduction: float
    both_checked: bool
    # Every seed, and checked. Otherwise no verdict is given, since longer training
    # could change it.
    both_converged: bool
    untested: str  # why there is no test; empty if there is one
    difference: Difference | None
    se: float  # standard error, and the same of seeds and of items alone
    se_seeds: float
    se_items: float
    df: float
    low: float  # of the 95 % interval
    high: float
    detectable: float
    p: float  # not adjusted; NaN if it was not tested, or if a seed is not converged
    n_ours: int  # seeds that count
    n_theirs: int
    our_scores: tuple[float, ...]  # of these seeds, on the split
    their_scores: tuple[float, ...]


@with_texts_of_python
def compare(
    runs: pd.DataFrame,
    pairs: pd.DataFrame,
    *,
    read: ReadOutcomes | None = None,
) -> pd.DataFrame:
    """Test each pair of systems: the columns of `pairs`, then of `Comparison` and of
    `families.judged_together`, and `conclusion`.

    `pairs` has two hashes in each row, `ours` and `theirs`; and optionally `split` (dev
    or, by default, test), `purpose` and `family`: the tests that have both of these in
    common are judged together, by default all. `conclusion` is the verdict, or why
    there is none.

    On a fraction of the training data the seed draws the subset, so seeds are paired
    there, and only seeds that both systems have count. read: reads the outcomes of a
    run; by default each run is read once in a call.
    """
    table = pairs.reset_index(drop=True)
    for column, value in (("split", "test"), ("purpose", ""), ("family", "")):
        if column not in table:
            table[column] = value
    by_hash: dict[str, list[Any]] = defaultdict(list)
    for run in rows_of(runs[_OF_RUNS].sort_values("seed")):
        by_hash[run.hash].append(run)
    read = read or CachedOutcomes()
    metrics = cache(scoring)
    compared: dict[tuple[str, str, str], Comparison] = {}
    for ours, theirs, split in zip(table.ours, table.theirs, table.split, strict=True):
        if (ours, theirs, split) not in compared:
            compared[ours, theirs, split] = _compare(
                by_hash[ours], by_hash[theirs], split, read, metrics
            )
    keys = zip(table.ours, table.theirs, table.split, strict=True)
    tests = pd.DataFrame([compared[key] for key in keys], columns=Comparison._fields)
    table = pd.concat([table, tests], axis=1)
    table = judged_together(table)
    reasons = table.both_converged.map({True: "not tested", False: UNCONVERGED})
    reasons = reasons.where(table.both_checked.astype(bool), NOT_CHECKED)
    table["conclusion"] = table.verdict.where(table.verdict != "", reasons)
    return with_plain_texts(table)


def _compare(
    ours: Sequence[Any],
    theirs: Sequence[Any],
    split: str,
    read: ReadOutcomes,
    metrics: Callable[[str, str], Counting],
) -> Comparison:
    """Of two systems, each with the runs of one hash by seed. metrics: `scoring`."""
    first, other = ours[0], theirs[0]
    checked = bool(first.checked and other.checked)
    converged = checked and all(run.converged for run in (*ours, *theirs))
    paired = first.basis == other.basis and first.drawn
    common = {run.seed for run in ours} & {run.seed for run in theirs}
    if paired and common:
        ours = [run for run in ours if run.seed in common]
        theirs = [run for run in theirs if run.seed in common]
    our_scores, their_scores = _scores(ours, split), _scores(theirs, split)
    tested, untested = None, ""
    try:
        tested = _tested(ours, theirs, split, read, metrics, paired=paired)
    except UserError as error:
        # The same page wherever the ledger is.
        untested = str(error).replace(f"{first.paths.ledger}/", "").rstrip(".")
    gains = {}
    for name in ("dev", "test"):
        gain = fmean(_scores(ours, name)) - fmean(_scores(theirs, name))
        gains[name] = round(gain, DIGITS)
    reduction = relative_reduction(fmean(our_scores), fmean(their_scores))
    low, high = tested.interval if tested else (nan, nan)
    return Comparison(
        gain=gains[split],
        test_gain=gains["test"],
        reduction=nan if reduction is None else reduction,
        both_checked=checked,
        both_converged=converged,
        untested=untested,
        difference=tested,
        se=tested.error if tested else nan,
        se_seeds=sqrt(sum(part.value for part in tested.seeds)) if tested else nan,
        se_items=sqrt(tested.items.value) if tested else nan,
        df=tested.df if tested else nan,
        low=low,
        high=high,
        detectable=tested.detectable if tested else nan,
        p=tested.p if tested and converged else nan,
        n_ours=len(ours),
        n_theirs=len(theirs),
        our_scores=our_scores,
        their_scores=their_scores,
    )


def _tested(
    ours: Sequence[Any],
    theirs: Sequence[Any],
    split: str,
    read: ReadOutcomes,
    metrics: Callable[[str, str], Counting],
    *,
    paired: bool,
) -> Difference:
    """The difference of two systems, from the runs that count, by seed.

    paired: their seeds drew the same training data. Raises UserError, which says why
    there is no test.
    """
    first, other = ours[0], theirs[0]
    _check_comparable(first, other)
    our_seeds = {run.seed for run in ours}
    if paired and our_seeds.isdisjoint(run.seed for run in theirs):
        raise UserError("no seed in common")
    metric = metrics(first.task, first.metric)
    arms = [_outcomes(arm, split, read, metric) for arm in (ours, theirs)]
    our_scores, their_scores = _scores(ours, split), _scores(theirs, split)
    if paired:
        pairs = zip(our_scores, their_scores, strict=True)
        seeds = [over_seeds([one - another for one, another in pairs])]
    else:
        seeds = [
            over_seeds(our_scores, is_drawn=not first.spec.deterministic),
            over_seeds(their_scores, is_drawn=not other.spec.deterministic),
        ]
    return difference_of(arms, seeds, metric, paired=paired)


def _check_comparable(ours: Any, theirs: Any) -> None:
    for name in ("suite", "task", "version", "data", "metric"):
        one, other = getattr(ours, name), getattr(theirs, name)
        if one != other:
            raise UserError(
                f"{name} is {one} and {other}. "
                "Compare runs on the same data and metric."
            )


def _scores(arm: Sequence[Any], split: str) -> tuple[float, ...]:
    return tuple(getattr(run, split) for run in arm)


def _outcomes(
    arm: Sequence[Any], split: str, read: ReadOutcomes, metric: Counting
) -> dict[str, Counts]:
    """The outcomes of each run by its name."""
    types = summed_types(metric)
    outcomes: dict[str, Counts] = {}
    for run in arm:
        name = str(run.paths.record.with_suffix(""))
        outcomes[name] = of_split(read(run.paths), split, types)
    return outcomes


def scoring(task: str, main: str) -> Counting:
    """How the main score of this name follows from the outcomes of a task's items.

    Raises UserError if the task is not installed.
    """
    metric: Counting | None = metric_of(task, main)
    if metric is None:
        raise UserError(f"{task}: {UNCHECKED}")
    return metric


def difference_of(
    arms: Sequence[Mapping[str, Counts]],
    seeds: Sequence[Variance | None],
    metric: Counting,
    *,
    paired: bool = False,
) -> Difference:
    """The difference of the mean scores of two systems, from the outcomes of each run
    by its name.

    seeds: the variance of the mean over seeds, of each of the two or, if `paired`, of
    the differences. paired: their seeds are the same, in one order, and drew the same
    training data. Raises UserError if outcomes are not of the same items, or of a
    single item, if all items differ alike, and for a single seed (None). That they add
    up to the scores was checked when the records were read.
    """
    ours, theirs = arms
    name, outcomes = next(iter(ours.items()))
    clusters = outcomes.get(CLUSTER)
    items = len(next(iter(outcomes.values())))
    for other in (*ours.items(), *theirs.items()):
        _check_same_items(other, (name, outcomes))
    if (items if clusters is None else len(np.unique(clusters))) < 2:
        raise UserError(
            f"{name}: its outcomes are of a single item. Compare on more data."
        )
    variances = [variance for variance in seeds if variance is not None]
    if len(variances) < len(seeds):
        raise UserError("a single seed")
    names = summed_names(metric, [*ours.values(), *theirs.values()])
    runs = len(ours) + len(theirs)
    if items * len(names) * runs > MOST_NUMBERS:
        raise UserError(
            f"{metric.main} of {items:,} items, {runs} runs and {len(names)} counts: "
            "a test takes too much memory. Compare fewer items or labels."
        )
    counts = []
    for arm in arms:
        counts.append(np.stack([columns(metric, run, names) for run in arm.values()]))
    score = main_figure(metric, names)
    tested = difference(counts[0], counts[1], score, variances, clusters, paired=paired)
    if tested.mean and not tested.error:
        raise UserError(
            f"{name}: each item differs alike from the other system's, so nothing says "
            "how far the difference varies. Compare on more data."
        )
    return tested


def _check_same_items(run: tuple[str, Counts], first: tuple[str, Counts]) -> None:
    """Raise UserError unless two runs, each with its name, have outcomes of the same
    items.
    """
    (name, outcomes), (first_name, expected) = run, first
    count = len(next(iter(expected.values())))
    same = _not_types(outcomes) == _not_types(expected) and all(
        len(values) == count for values in outcomes.values()
    )
    if same and CLUSTER in expected:
        same = np.array_equal(outcomes[CLUSTER], expected[CLUSTER])
    if not same:
        raise UserError(
            f"{name}: its outcomes are of other items than the outcomes of "
            f"{first_name}. Run both again with overwrite=true."
        )


def _not_types(outcomes: Counts) -> set[str]:
    """The names of outcomes without types, since a run may find other types."""
    return {name for name in outcomes if not name.startswith(TYPE)}
