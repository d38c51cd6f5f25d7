"""Paired tests of two systems on the same test items, and the adjustment for several tests.

Approximate randomisation: Noreen (1989), Computer-intensive methods for testing hypotheses; Yeh (2000), More accurate
tests for the statistical significance of result differences, COLING. If the two systems were equally good, it would not
matter which of them produced which outcome of an item. Each round tosses a coin for every item and swaps its outcomes
or not; the p-value is the share of rounds with a difference of scores at least as large as the observed one, in either
direction.

An item is swapped in all seeds together: seeds fail on the same items, and swapping each seed separately would count
three seeds as three test sets. So the test says whether these trained systems would differ on other items, and nothing
about other seeds. (scipy.stats.permutation_test swaps single numbers; here an item is a block of counts.)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

ROUNDS = 10_000
CELLS = 2_000_000  # coins tossed at a time
SAME = 1e-9  # percentage points: above rounding errors, below any true difference between scores

Score = Callable[[np.ndarray], np.ndarray]  # sums [..., K] to scores [...]


def randomisation(ours: np.ndarray, theirs: np.ndarray, score: Score, *, rounds: int = ROUNDS, seed: int = 0) -> float:
    """The two-sided p-value, (1 + extreme rounds) / (1 + rounds), of the difference of the mean scores over seeds.

    `ours` and `theirs` are counts [seeds, items, K] of the same seeds and items. The observed difference counts as a
    round (Noreen 1989), so p is never 0. The same seed gives the same p with any version of numpy.
    """
    return (1 + extreme(ours, theirs, score, coins(rounds, ours.shape[1], seed=seed))) / (1 + rounds)


def extreme(ours: np.ndarray, theirs: np.ndarray, score: Score, swaps: Iterable[np.ndarray]) -> int:
    """How many rounds differ at least as much as observed; `swaps` are blocks [rounds, items] of 0 and 1."""
    if ours.shape != theirs.shape:
        raise ValueError(f"counts of shape {ours.shape} against {theirs.shape}")
    seeds, items, counts = ours.shape
    moved = (theirs - ours).transpose(1, 0, 2).reshape(items, seeds * counts)  # what a swap adds to our sums
    alive = moved.any(axis=1)  # swapping equal outcomes changes nothing
    moved = moved[alive]
    our_sums, their_sums = ours.sum(axis=1), theirs.sum(axis=1)  # [seeds, K]

    def gap(change: np.ndarray | float) -> np.ndarray:
        return score(our_sums + change).mean(axis=-1) - score(their_sums - change).mean(axis=-1)

    observed = abs(gap(0.0))
    found = 0
    for block in swaps:
        change = (block[:, alive].astype(np.float64) @ moved).reshape(len(block), seeds, counts)
        found += int(np.count_nonzero(abs(gap(change)) >= observed - SAME))
    return found


def coins(rounds: int, items: int, *, seed: int) -> Iterator[np.ndarray]:
    """Blocks [some rounds, items] of fair coins, uint8; the coins do not depend on the size of the blocks."""
    raw = np.random.PCG64(seed)  # numpy never changes a bit generator's stream, but may change a Generator's
    words = -(-items // 64)  # of 64 coins each, for a round
    step = max(1, CELLS // max(items, 1))
    for start in range(0, rounds, step):
        size = min(step, rounds - start)
        tossed = raw.random_raw(size * words).astype("<u8").view(np.uint8).reshape(size, words * 8)
        yield np.unpackbits(tossed, axis=1, count=items)


def mcnemar(ours: np.ndarray, theirs: np.ndarray) -> float:
    """McNemar's exact test for one seed each: the two-sided p-value of right (1) or wrong (0) [items].

    Source: McNemar (1947), Psychometrika 12. Consider the items that exactly one system has right: if the systems were
    equally good, ours would be right on a number of them that is binomial with probability 1/2. 1 if there are none.
    """
    if ours.shape != theirs.shape:
        raise ValueError(f"{ours.shape} outcomes against {theirs.shape}")
    from scipy.stats import binomtest  # slow to import

    won, lost = int(np.count_nonzero(ours > theirs)), int(np.count_nonzero(theirs > ours))
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for the number of tests, in the order given: reject those that are at most α.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.
    The k-th smallest of m is multiplied by m + 1 - k, raised to the largest value before it, and cut at 1. The chance
    of even one false rejection in the family is then at most α. (scipy has the false discovery rate, not this.)
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted.tolist()
