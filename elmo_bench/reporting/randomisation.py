"""Paired approximate randomisation over test items.

Source: Noreen (1989), Computer-intensive methods for testing hypotheses; Yeh (2000), More accurate tests for the
statistical significance of result differences, COLING. Were the two systems alike, it would not matter which of them
gave which outcome of an item: each round tosses a coin for every item and swaps its outcomes or not, and the p-value is
the share of rounds with a difference of scores at least as large as the one observed, either way.

An item is swapped in all seeds together: seeds fail on the same items, and swapping each apart would take three seeds
for three test sets. So the test says whether these trained systems would differ on other items; it says nothing about
other seeds. (scipy.stats.permutation_test swaps single numbers; here an item is a block of counts, one row a seed.)
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

ROUNDS = 10_000
CELLS = 2_000_000  # coins tossed at a time
SAME = 1e-9  # percentage points; rounding errors lie below, true differences between scores above

Score = Callable[[np.ndarray], np.ndarray]  # sums [..., K] to scores [...]


def randomisation(ours: np.ndarray, theirs: np.ndarray, score: Score, *, rounds: int = ROUNDS, seed: int = 0) -> float:
    """The two-sided p-value, (1 + extreme rounds) / (1 + rounds), of the difference of the mean scores over seeds.

    `ours` and `theirs` are counts [seeds, items, K], row by row of the same seed and item. The observed difference
    counts as a round (Noreen 1989), so p is never 0. The same seed gives the same p, whatever the version of numpy.
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
    """Blocks [some rounds, items] of fair coins, uint8; the coins do not depend on how they fall into blocks."""
    raw = np.random.PCG64(seed)  # numpy keeps a bit generator's stream for good, a Generator's it may change
    words = -(-items // 64)  # of 64 coins each, for a round
    step = max(1, CELLS // max(items, 1))
    for start in range(0, rounds, step):
        size = min(step, rounds - start)
        tossed = raw.random_raw(size * words).astype("<u8").view(np.uint8).reshape(size, words * 8)
        yield np.unpackbits(tossed, axis=1, count=items)
