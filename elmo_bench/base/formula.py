"""A main score as a formula of counts that are summed over items: outcomes -> sums -> score.

A task's metric brings its formula (`metric.py: Metric.formula`), and every paired test computes it again on resampled
items. A record has the formula's name, so that its outcomes can be tested wherever an installed task has that formula.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from elmo_bench.base.errors import UserError

Outcomes = Mapping[str, np.ndarray]  # whole numbers [items] by name
FINE = 1_000_000  # outcomes are whole numbers, so fractions, whose names end in _num, are counted in millionths


@dataclass(frozen=True)
class Formula:
    """A score of sums; `counts` and `score` are vectorised. Other outcomes than those it reads may be present."""

    name: str  # in records: a change of the formula takes a new name
    outcomes: tuple[str, ...]  # the arrays that it reads
    counts: Callable[..., np.ndarray]  # of these arrays: what is summed, float64 [items, K]
    score: Callable[[np.ndarray], np.ndarray]  # of sums [..., K]: the score in percent [...], 0 if the divisor is 0
    gold: Callable[[np.ndarray], float]  # of sums [K]: how many decisions or gold units are scored

    def counts_of(self, outcomes: Outcomes) -> np.ndarray:
        """Counts [items, K]. Raises UserError if an array is missing."""
        if missing := [name for name in self.outcomes if name not in outcomes]:
            raise UserError(f"outcomes without {', '.join(missing)}. Run again with overwrite=true.")
        return self.counts(*(outcomes[name].astype(np.float64) for name in self.outcomes))

    def gold_of(self, outcomes: Outcomes) -> float:
        """How many decisions or gold units these outcomes are of. Raises UserError if an array is missing."""
        return float(self.gold(self.counts_of(outcomes).sum(axis=0)))

    def score_of(self, outcomes: Outcomes) -> float:
        """The score that these outcomes add up to. Raises UserError if an array is missing."""
        return float(self.score(self.counts_of(outcomes).sum(axis=0)))


def columns(*arrays: np.ndarray) -> np.ndarray:
    """Arrays [items], side by side: [items, K]."""
    return np.stack(arrays, axis=1)


def with_items(values: np.ndarray) -> np.ndarray:
    """A second column of ones, whose sum is the number of items: [items, 2]."""
    return columns(values, np.ones(len(values)))


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole; 0 where whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)


def share(sums: np.ndarray) -> np.ndarray:
    """The first sum in percent of the second."""
    return 100 * ratio(sums[..., 0], sums[..., 1])


def measure(main: str, overall: Mapping[str, float]) -> str:
    """What a main score is called: `accuracy` for an F1 whose spans are all single tokens, such as of plain tags."""
    plain = overall.get("tokens", -1) == overall.get("gold") == overall.get("guessed")
    return "accuracy" if main == "f1" and plain else main
