"""The main score as a formula of counts summed over test items: what paired tests recompute.

The names of the outcomes beside a record say which formula is meant, so that no task is named here and a new task
picks one by its names (c stands for Σ correct, and so on; sums over items):

| outcomes | main score, in percent |
|---|---|
| correct | 100 c / items: accuracy |
| correct, tokens | 100 c / tokens: accuracy where an item holds several decisions |
| correct, guessed, gold | 200 c / (guessed + gold): micro-averaged F1 |
| correct, excess, missed | 200 c / (2 c + excess + missed): micro-averaged F1 |
| exact, common, guessed, gold | 100 · mean over items of 2 common / (guessed + gold), an item's own F1 |
| M_recall_num, M_recall_den, M_precision_num, M_precision_den, for each M | 100 · mean of the M's 2PR / (P + R) |

M are muc, bcub and ceafe (more may be there and do not count), their numerators in whole millionths. A score is 0
where there is nothing to divide by. Sources: F1 is van Rijsbergen's (Information retrieval, 1979); the average of three
is the CoNLL-2012 shared task's (Pradhan et al. 2012). `compare.py` checks that a formula gives the record's own score.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from elmo_bench.base.errors import UserError

Outcomes = Mapping[str, np.ndarray]  # whole numbers [items] by name

AVERAGED = ("muc", "bcub", "ceafe")
SIDES = ("recall_num", "recall_den", "precision_num", "precision_den")
FINE = 1_000_000  # numerators are whole numbers of millionths


@dataclass(frozen=True)
class Formula:
    """A score of sums; both functions are vectorised."""

    counts: Callable[[Outcomes], np.ndarray]  # what is summed: float64 [items, K], exact where whole numbers
    score: Callable[[np.ndarray], np.ndarray]  # of sums [..., K]: the score in percent [...]
    binary: bool = False  # whether an item is right or wrong and the score is the share of right ones


def formula_of(outcomes: Outcomes) -> Formula:
    """The formula that these names stand for; raises UserError where none does."""
    names = frozenset(outcomes)
    if names in _BY_NAMES:
        return _BY_NAMES[names]
    if names >= {f"{metric}_{side}" for metric in AVERAGED for side in SIDES}:
        return Formula(_columns(*(f"{metric}_{side}" for metric in AVERAGED for side in SIDES)), _average_f1)
    known = "; ".join(", ".join(sorted(names)) for names in _BY_NAMES)
    raise UserError(
        f"outcomes named {', '.join(sorted(names)) or 'nothing'}: no formula of the score for these; "
        f"name them as one of elmo_bench/reporting/formulas.py ({known})"
    )


def score_of(outcomes: Outcomes) -> float:
    """The score that these outcomes amount to."""
    formula = formula_of(outcomes)
    return float(formula.score(formula.counts(outcomes).sum(axis=0)))


def _columns(*names: str) -> Callable[[Outcomes], np.ndarray]:
    return lambda outcomes: np.stack([outcomes[name].astype(np.float64) for name in names], axis=1)


def _with_items(values: np.ndarray) -> np.ndarray:
    """A second column of ones, whose sum is the number of items."""
    return np.stack([values.astype(np.float64), np.ones(len(values))], axis=1)


def _own_f1(outcomes: Outcomes) -> np.ndarray:
    common, guessed, gold = (outcomes[name].astype(np.float64) for name in ("common", "guessed", "gold"))
    return _with_items(_ratio(2 * common, guessed + gold))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)


def _share(sums: np.ndarray) -> np.ndarray:
    return 100 * _ratio(sums[..., 0], sums[..., 1])


def _f1_of_sizes(sums: np.ndarray) -> np.ndarray:
    return 200 * _ratio(sums[..., 0], sums[..., 1] + sums[..., 2])


def _f1_of_errors(sums: np.ndarray) -> np.ndarray:
    return 200 * _ratio(sums[..., 0], 2 * sums[..., 0] + sums[..., 1] + sums[..., 2])


def _average_f1(sums: np.ndarray) -> np.ndarray:
    by_metric = sums.reshape(*sums.shape[:-1], len(AVERAGED), len(SIDES))
    recall = _ratio(by_metric[..., 0], FINE * by_metric[..., 1])
    precision = _ratio(by_metric[..., 2], FINE * by_metric[..., 3])
    return 100 * _ratio(2 * precision * recall, precision + recall).mean(axis=-1)


_BY_NAMES = {
    frozenset({"correct"}): Formula(lambda outcomes: _with_items(outcomes["correct"]), _share, binary=True),
    frozenset({"correct", "tokens"}): Formula(_columns("correct", "tokens"), _share),
    frozenset({"correct", "guessed", "gold"}): Formula(_columns("correct", "guessed", "gold"), _f1_of_sizes),
    frozenset({"correct", "excess", "missed"}): Formula(_columns("correct", "excess", "missed"), _f1_of_errors),
    frozenset({"exact", "common", "guessed", "gold"}): Formula(_own_f1, _share),
}
