"""What a row gains over another, whether that holds over seeds and items, and so how several encoders rank.

An encoder's rank on a task is 1 plus the number of encoders with a higher true score. Tests of all pairs on all tasks,
adjusted together (Holm), give an interval: at least 1 plus the number of encoders that are shown ahead, and at most the
number of encoders less those that are shown behind. As long as no verdict errs, which Holm's adjustment gives at least
95 % of repetitions, all of these intervals hold at once, and so do their means over tasks. Ties make an interval wide.
It speaks of these tasks, with other seeds and other items, and not of other tasks.

Source: Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries, Review of Economic Studies 91. A bootstrap of ranks fails
where scores are nearly equal (Hall and Miller 2009, Annals of Statistics 37). The critical differences of Friedman's
test (Demšar 2006, Journal of Machine Learning Research 7) take tasks for a sample, and six are too few for that.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Counting, Counts, columns, main_figure
from elmo_bench.ledger import CLUSTER, RunPaths, of_split, read_outcomes
from elmo_bench.reporting.rows import BASELINE, NOT_CHECKED, Row
from elmo_bench.reporting.significance import (
    CERTAIN,
    Difference,
    Variance,
    difference,
    holm,
    over_seeds,
    relative_reduction,
)
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import DRAWN

ALPHA = 0.05
MARKS = {"ahead": "▲", "behind": "▼", "tie": "=", "": ""}
FEW = 3  # seeds
SEEN = "tie (± x): with so few seeds a difference below x points could not be seen."
# Options that the baseline does not have: they belong to the encoder above it.
CONTEXTUAL = ("mix", "place", "store", "encoder.weights", "encoder.precision", "encoder.contextual")
KEPT = 1000  # records whose outcomes stay in memory, as a row is compared with several others


@dataclass(frozen=True)
class Gain:
    """Ours minus theirs on one split, dev or test."""

    ours: Row
    theirs: Row
    split: str
    difference: Difference | None  # None: not tested
    untested: str = ""  # the reason
    p_holm: float | None = None  # adjusted for the tests of its family, after `family_of`

    @property
    def mean(self) -> float:
        """The difference of the means over all seeds."""
        return self.on(self.split)

    def on(self, split: str) -> float:
        """The difference of the means on a split."""
        return self.ours.summary(split).mean - self.theirs.summary(split).mean

    @property
    def reduction(self) -> float | None:
        """The relative error reduction in percent; None if they make no errors."""
        return relative_reduction(self.ours.summary(self.split).mean, self.theirs.summary(self.split).mean)

    @property
    def converged(self) -> bool:
        """Whether every run of both rows is, and is checked; else there is no verdict, since it could change."""
        return not (self.ours.mark or self.theirs.mark)

    @property
    def p(self) -> float | None:
        """Not adjusted; None if it was not tested, or if a run is not converged."""
        return self.difference.p if self.difference and self.converged else None

    @property
    def verdict(self) -> str:
        """ahead, behind or tie at α = 0.05, by the adjusted p if there is one; empty if there is no p."""
        p = self.p if self.p_holm is None else self.p_holm
        if p is None:
            return ""
        if p > ALPHA:
            return "tie"
        return "ahead" if self.mean > 0 else "behind"

    @property
    def said(self) -> str:
        """The verdict, or why there is none."""
        if not self.ours.checked:
            return NOT_CHECKED
        return self.verdict or ("not tested" if self.converged else "not converged")

    @property
    def shown(self) -> str:
        """The same; of a tie with few seeds also what could have been seen: half of the interval's width."""
        if self.verdict != "tie" or not self.difference or min(len(self.ours.seeds), len(self.theirs.seeds)) > FEW:
            return self.said
        low, high = self.difference.interval
        return f"tie (± {(high - low) / 2:.2f})"

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]


Gains = Callable[..., Gain]  # (ours, theirs, *, split="test")
Pair = tuple[Row, Row | None]  # a row, and what it is compared with


def metric_for(row: Row) -> Counting:
    """How the row's scores follow from its outcomes. Raises UserError if its task is not installed."""
    if metric := metric_of(row.spec.task):
        return metric
    raise UserError(f"task {row.spec.task} is not installed. Give its folder: --include FOLDER.")


def gains_from(ledger: Path) -> Gains:
    """`gain(ours, theirs, split="test")`. What was computed or read once is remembered."""
    known: dict[tuple[str, str, str], Gain] = {}
    read = lru_cache(maxsize=KEPT)(read_outcomes)

    def arm(row: Row, split: str) -> dict[str, Counts]:
        paths = [RunPaths.of(ledger, record) for record in row.records]
        return {str(path.record.with_suffix("")): of_split(read(path), split) for path in paths}

    def test(ours: Row, theirs: Row, split: str) -> Gain:
        paired = ours.basis == theirs.basis and not DRAWN.isdisjoint(dict(ours.basis.fraction))
        if paired and (common := {*ours.seeds} & {*theirs.seeds}):  # the seed draws the subset
            cut = [tuple(each for each in row.records if each["seed"] in common) for row in (ours, theirs)]
            ours, theirs = replace(ours, records=cut[0]), replace(theirs, records=cut[1])
        scores = [[*row.scores(split).values()] for row in (ours, theirs)]
        try:
            for name in ("suite", "task", "version", "data"):
                if (left := getattr(ours.basis, name)) != (right := getattr(theirs.basis, name)):
                    raise UserError(f"{name} is {left} and {right}. Compare runs on the same data and metric.")
            if paired:
                if ours.seeds != theirs.seeds:
                    raise UserError("no seed in common")
                scores = [[one - other for one, other in zip(*scores, strict=True)]]
            metric = metric_for(ours)
            arms = arm(ours, split), arm(theirs, split)
            seeds = [over_seeds(each) for each in scores]
            if not paired:
                seeds = [
                    CERTAIN if row.deterministic else of_arm for row, of_arm in zip((ours, theirs), seeds, strict=True)
                ]
            return Gain(ours, theirs, split, tested(*arms, metric, seeds, paired=paired))
        except UserError as error:
            reason = str(error).replace(f"{ledger}/", "").rstrip(".")  # the same page wherever the ledger is
            return Gain(ours, theirs, split, None, reason)

    def gain(ours: Row, theirs: Row, *, split: str = "test") -> Gain:
        pair = ours.anchor, theirs.anchor, split
        if pair not in known:
            known[pair] = test(ours, theirs, split)
        return known[pair]

    return gain


def tested(
    ours: Mapping[str, Counts],
    theirs: Mapping[str, Counts],
    metric: Counting,
    seeds: Sequence[Variance | None],
    *,
    paired: bool = False,
) -> Difference:
    """The difference of the mean scores of two arms, from the outcomes of each run by its name.

    seeds: the variance of the mean over seeds, of each arm or, if `paired`, of the differences. Raises UserError if
    outcomes are not of the same items, or of a single item, and for a single seed (None). That they add up to the
    scores was checked when the records were read.
    """
    (first, like), *_ = ours.items()
    clusters, count = like.get(CLUSTER), len(next(iter(like.values())))
    for name, side in [*ours.items(), *theirs.items()]:
        same = side.keys() == like.keys() and all(len(values) == count for values in side.values())
        if not same or (clusters is not None and not np.array_equal(side[CLUSTER], clusters)):
            raise UserError(
                f"{name}: its outcomes are of other items than the outcomes of {first}. "
                "Run both again with overwrite=true."
            )
    if (count if clusters is None else len(np.unique(clusters))) < 2:
        raise UserError(f"{first}: its outcomes are of a single item. Compare on more data.")
    known = [variance for variance in seeds if variance is not None]
    if len(known) < len(seeds):
        raise UserError("a single seed")
    left, right = (np.stack([columns(metric, side) for side in arm.values()]) for arm in (ours, theirs))
    return difference(left, right, main_figure(metric), known, clusters, paired=paired)


def over_baseline(rows: Sequence[Row]) -> list[Pair]:
    """Each row with its baseline among these: on the same basis, with the same changes as far as they concern it.

    None for the baseline itself, or if that row is missing.
    """
    known = {(row.basis, frozenset(row.changes.items())): row for row in rows[::-1] if row.spec.encoder == BASELINE}
    pairs = list[Pair]()
    for row in rows:
        same = frozenset((key, value) for key, value in row.changes.items() if not key.startswith(CONTEXTUAL))
        pairs.append((row, None if row.spec.encoder == BASELINE else known.get((row.basis, same))))
    return pairs


def family_of(pairs: Iterable[Pair], gain: Gains, *, split: str = "test") -> dict[str, Gain]:
    """The gains of one family, by the anchor of ours; each p is adjusted for all tests of the family."""
    family = [gain(ours, theirs, split=split) for ours, theirs in pairs if theirs]
    return {each.ours.anchor: each for each in adjusted(family)}


def adjusted(family: Sequence[Gain]) -> list[Gain]:
    """The same gains, each p adjusted for all of their tests."""
    after = iter(holm([each.p for each in family if each.p is not None]))
    return [replace(each, p_holm=next(after)) if each.p is not None else each for each in family]


Verdicts = Collection[tuple[str, str]]  # (winner, loser) of each pair that the tests of a task separate


class Rank(NamedTuple):
    """A mean over tasks."""

    mean: float  # of the ranks by score; equal scores share the mean of their ranks
    low: float  # the interval
    high: float


class Standings(NamedTuple):
    """Encoders on tasks that have all of them."""

    gains: list[Gain]  # of every pair on every task, p adjusted for all of them
    ranks: dict[str, Rank]  # by encoder


def standings(rows: Mapping[str, Mapping[str, Row]], gain: Gains) -> Standings:
    """Test every pair on every task. `rows`: by task, by encoder; each task has the same encoders."""
    gains = adjusted([gain(*pair) for own in rows.values() for pair in combinations(own.values(), 2)])
    scores = {task: {name: row.summary("test").mean for name, row in own.items()} for task, own in rows.items()}
    verdicts: dict[str, set[tuple[str, str]]] = {task: set() for task in rows}
    for each in gains:
        pair = (each.ours.encoder, each.theirs.encoder)
        if each.verdict in ("ahead", "behind"):
            verdicts[each.ours.spec.task].add(pair if each.verdict == "ahead" else pair[::-1])
    return Standings(gains, ranks_of(scores, verdicts))


def ranks_of(scores: Mapping[str, Mapping[str, float]], verdicts: Mapping[str, Verdicts]) -> dict[str, Rank]:
    """By encoder. `scores`: by task, by encoder, the same encoders on each task."""
    ranks, count = {}, len(next(iter(scores.values())))
    for name in next(iter(scores.values())):
        above = fmean(sum(score > own[name] for score in own.values()) for own in scores.values())
        equal = fmean(sum(score == own[name] for score in own.values()) for own in scores.values())
        behind = fmean(sum(loser == name for _, loser in own) for own in verdicts.values())
        ahead = fmean(sum(winner == name for winner, _ in own) for own in verdicts.values())
        ranks[name] = Rank(above + (equal + 1) / 2, 1 + behind, count - ahead)
    return ranks
