"""Several encoders on several tasks: which of them tests separate, and the rank of each over tasks with its interval.

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

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from string import ascii_lowercase
from typing import NamedTuple

import pandas as pd

from elmo_bench.reporting.gains import Gain, Gains, adjusted
from elmo_bench.reporting.rows import Row

Verdicts = Collection[tuple[str, str]]  # (winner, loser) of each pair that the tests of a task separate


class Rank(NamedTuple):
    """A mean over tasks."""

    mean: float  # of the ranks by score; equal scores share the mean of their ranks
    low: float  # the interval
    high: float


class Standings(NamedTuple):
    """Encoders on tasks that have all of them."""

    gains: list[Gain]  # of every pair on every task, p adjusted for all of them
    letters: dict[str, dict[str, str]]  # by task, by encoder: see `letters_of`
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
    letters = {task: letters_of(sorted(own, key=own.get, reverse=True), verdicts[task]) for task, own in scores.items()}  # type: ignore[arg-type]
    return Standings(gains, letters, ranks_of(scores, verdicts))


def letters_of(names: Sequence[str], verdicts: Verdicts) -> dict[str, str]:
    """Tie groups: two encoders have a letter in common if and only if no test separates them. `names`: best first.

    Source: Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons, Journal of
    Computational and Graphical Statistics 13 (insert and absorb).
    """
    groups = [frozenset(names)]
    for pair in verdicts:
        split = [
            part for group in groups for part in ([group - {name} for name in pair] if group >= {*pair} else [group])
        ]
        groups = [one for one in dict.fromkeys(split) if not any(one < other for other in split)]
    groups.sort(key=lambda group: [name not in group for name in names])
    marks = [*ascii_lowercase, *(f"({number})" for number in range(27, len(groups) + 1))]
    return {name: "".join(mark for mark, group in zip(marks, groups, strict=False) if name in group) for name in names}


def ranks_of(scores: Mapping[str, Mapping[str, float]], verdicts: Mapping[str, Verdicts]) -> dict[str, Rank]:
    """By encoder. `scores`: by task, by encoder, the same encoders on each task."""
    means = pd.DataFrame(scores).rank(ascending=False).mean(axis=1)
    ranks = {}
    for name, mean in means.items():
        behind = fmean(sum(loser == name for _, loser in own) for own in verdicts.values())
        ahead = fmean(sum(winner == name for winner, _ in own) for own in verdicts.values())
        ranks[name] = Rank(mean, 1 + behind, len(means) - ahead)
    return ranks
