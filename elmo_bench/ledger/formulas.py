"""The main score as a formula of counts summed over test items: what paired tests compute again.

A metric names its formula and the record carries the name. c is Σ correct, and so on; sums are over items:

| formula | outcomes | main score, in percent |
|---|---|---|
| `accuracy` | correct (right or wrong) | 100 c / items |
| `token-accuracy` | correct, tokens | 100 c / tokens: an item holds several decisions |
| `f1-counts` | correct, guessed, gold | 200 c / (guessed + gold): micro-averaged F1 |
| `f1-errors` | correct, excess, missed | 200 c / (2 c + excess + missed): micro-averaged F1 |
| `mean-f1` | common, guessed, gold | 100 · mean over items of 2 common / (guessed + gold), the F1 of an item |
| `conll-2012` | M_recall_num, M_recall_den, M_precision_num, M_precision_den | 100 · mean over M of 2PR / (P + R) |

M is muc, bcub and ceafe; their numerators are whole millionths. Other outcomes may be present and are ignored. A score
is 0 if the divisor is 0. Sources: F1 is van Rijsbergen's (Information retrieval, 1979); the average of three is the
CoNLL-2012 shared task's (Pradhan et al. 2012). A run and every comparison check that the outcomes add up to the score.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from elmo_bench.base.errors import UserError

Outcomes = Mapping[str, np.ndarray]  # whole numbers [items] by name

AVERAGED = ("muc", "bcub", "ceafe")
SIDES = ("recall_num", "recall_den", "precision_num", "precision_den")
FINE = 1_000_000  # numerators are whole numbers of millionths
AGREES = 0.01  # percentage points between a score and its outcomes; some outcomes are rounded


@dataclass(frozen=True)
class Formula:
    """A score of sums; both functions are vectorised."""

    outcomes: tuple[str, ...]  # the arrays that it reads
    counts: Callable[..., np.ndarray]  # of these arrays: what is summed, float64 [items, K]
    score: Callable[[np.ndarray], np.ndarray]  # of sums [..., K]: the score in percent [...]
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


def formula(name: str) -> Formula:
    """The formula of this name. Raises UserError if there is none."""
    if name not in FORMULAS:
        raise UserError(f"formula {name}: unknown. elmo_bench/ledger/formulas.py has {', '.join(FORMULAS)}.")
    return FORMULAS[name]


def _columns(*arrays: np.ndarray) -> np.ndarray:
    return np.stack(arrays, axis=1)


def _with_items(values: np.ndarray) -> np.ndarray:
    """A second column of ones, whose sum is the number of items."""
    return np.stack([values, np.ones(len(values))], axis=1)


def _item_f1(common: np.ndarray, guessed: np.ndarray, gold: np.ndarray) -> np.ndarray:
    return _with_items(_ratio(2 * common, guessed + gold))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)


def _share(sums: np.ndarray) -> np.ndarray:
    return 100 * _ratio(sums[..., 0], sums[..., 1])


def _f1_of_counts(sums: np.ndarray) -> np.ndarray:
    return 200 * _ratio(sums[..., 0], sums[..., 1] + sums[..., 2])


def _f1_of_errors(sums: np.ndarray) -> np.ndarray:
    return 200 * _ratio(sums[..., 0], 2 * sums[..., 0] + sums[..., 1] + sums[..., 2])


def _average_f1(sums: np.ndarray) -> np.ndarray:
    by_metric = sums.reshape(*sums.shape[:-1], len(AVERAGED), len(SIDES))
    recall = _ratio(by_metric[..., 0], FINE * by_metric[..., 1])
    precision = _ratio(by_metric[..., 2], FINE * by_metric[..., 3])
    return 100 * _ratio(2 * precision * recall, precision + recall).mean(axis=-1)


def _second(sums: np.ndarray) -> float:
    """Items or tokens."""
    return sums[1]


def _mentions(sums: np.ndarray) -> float:
    return sums[AVERAGED.index("bcub") * len(SIDES) + SIDES.index("recall_den")]


_AVERAGED = tuple(f"{metric}_{side}" for metric in AVERAGED for side in SIDES)
FORMULAS = {
    "accuracy": Formula(("correct",), _with_items, _share, _second),
    "token-accuracy": Formula(("correct", "tokens"), _columns, _share, _second),
    "f1-counts": Formula(("correct", "guessed", "gold"), _columns, _f1_of_counts, lambda sums: sums[2]),
    "f1-errors": Formula(("correct", "excess", "missed"), _columns, _f1_of_errors, lambda sums: sums[0] + sums[2]),
    "mean-f1": Formula(("common", "guessed", "gold"), _item_f1, _share, _second),
    "conll-2012": Formula(_AVERAGED, _columns, _average_f1, _mentions),
}
