"""Paired tests and Holm's adjustment, by hand, against enumerated swaps and scipy, and in simulations."""

import itertools
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy.stats import binom, norm, permutation_test

from elmo_bench.reporting.formulas import formula
from elmo_bench.reporting.significance import coins, extreme, holm, mcnemar, randomisation

ACCURACY, F1 = formula("accuracy"), formula("f1-counts")


def right(*seeds):
    """Counts [seeds, items, 2] of items that are right (1) or wrong."""
    return np.stack([ACCURACY.counts_of({"correct": np.array(seed)}) for seed in seeds])


def every_swap(items):
    return [np.array(list(itertools.product((0, 1), repeat=items)), dtype=np.uint8)]


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ([1, 1, 1], [0, 0, 0], 2),  # all swapped or none, of 8
        ([1, 1, 0], [0, 0, 1], 8),  # one ahead: three signs sum to an odd number, never nearer than one
        ([1, 1, 1, 1], [0, 0, 0, 1], 4),  # the last item has no effect: 2 of 8, twice
        ([1, 0, 1], [1, 0, 1], 8),  # the same system
        ([1, 1, 1, 1, 0], [0, 0, 0, 0, 1], 12),  # ahead by 3 of 5 signs: 5 + 1 ways, both sides, of 32
    ],
)
def test_every_swap_by_hand(ours, theirs, found):
    assert extreme(right(ours), right(theirs), ACCURACY.score, every_swap(len(ours))) == found


def test_seeds_are_swapped_together():
    ours, theirs = right([1, 1, 1], [1, 1, 1]), right([0, 0, 0], [0, 0, 0])
    assert (
        extreme(ours, theirs, ACCURACY.score, every_swap(3)) == 2
    )  # of 8; it would be of 64 if each seed were swapped separately
    ours, theirs = right([1, 1, 0], [1, 0, 0]), right([0, 0, 1], [0, 1, 0])
    # By item the two seeds add to +2, 0 and -1: |±2 ± 1| >= 1 for every one of the 8.
    assert extreme(ours, theirs, ACCURACY.score, every_swap(3)) == 8


def plain_f1(rows):
    correct, guessed, gold = (sum(int(row[k]) for row in rows) for k in range(3))
    return Fraction(200 * correct, guessed + gold) if guessed + gold else Fraction(0)


@pytest.mark.parametrize("seed", range(3))
def test_f1_over_seeds_against_exact_fractions(seed):
    rng = np.random.default_rng(seed)
    gold = np.broadcast_to(rng.integers(0, 4, 6), (3, 6))

    def system():
        correct = np.minimum(rng.integers(0, 4, (3, 6)), gold)
        return np.stack([correct, correct + rng.integers(0, 2, (3, 6)), gold], axis=2).astype(float)

    ours, theirs = system(), system()

    def gap(swap):
        sides = [[], []]
        for s in range(3):
            pairs = [(theirs[s, i], ours[s, i]) if swap[i] else (ours[s, i], theirs[s, i]) for i in range(6)]
            for side, rows in zip(sides, zip(*pairs, strict=True), strict=True):
                side.append(plain_f1(rows))
        return abs(sum(sides[0]) - sum(sides[1]))

    expected = sum(gap(swap) >= gap((0,) * 6) for swap in itertools.product((0, 1), repeat=6))
    assert extreme(ours, theirs, F1.score, every_swap(6)) == expected
    sampled = randomisation(ours, theirs, F1.score, rounds=20_000)
    assert sampled == pytest.approx(expected / 64, abs=0.012)  # over three standard errors


def test_single_numbers_against_scipy():
    rng = np.random.default_rng(5)
    ours, theirs = rng.normal(0.6, 1, 11), rng.normal(0, 1, 11)
    theirs_test = permutation_test(
        (ours, theirs), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", vectorized=True
    )
    sides = [np.stack([values, np.ones(11)], axis=1)[None] for values in (ours, theirs)]
    assert extreme(*sides, ACCURACY.score, every_swap(11)) / 2**11 == pytest.approx(theirs_test.pvalue, abs=1e-12)


def test_p_is_never_zero_and_repeats():
    ours, theirs = right([1] * 60), right([0] * 60)
    assert randomisation(ours, theirs, ACCURACY.score, rounds=999) == 0.001  # none of 2^60 comes near
    a, b = right([1, 0, 1, 1, 0, 1, 1, 0] * 8), right([0, 0, 1, 0, 1, 1, 0, 1] * 8)
    first = randomisation(a, b, ACCURACY.score, rounds=2000)
    assert first == randomisation(a, b, ACCURACY.score, rounds=2000)
    assert first == randomisation(b, a, ACCURACY.score, rounds=2000)  # two-sided
    assert first != randomisation(a, b, ACCURACY.score, rounds=2000, seed=1)
    with pytest.raises(ValueError, match="against"):
        randomisation(a, ours, ACCURACY.score)


def test_coins_are_fair_and_do_not_depend_on_the_blocks(monkeypatch):
    whole = np.concatenate(list(coins(3000, 130, seed=7)))
    assert whole.shape == (3000, 130)
    assert abs(whole.mean() - 0.5) < 4 * 0.5 / np.sqrt(whole.size)
    assert abs(whole.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(3000)
    monkeypatch.setattr("elmo_bench.reporting.significance.CELLS", 1000)
    blocks = list(coins(3000, 130, seed=7))
    assert len(blocks) > 100
    assert np.array_equal(np.concatenate(blocks), whole)


def test_a_simulated_null_is_rejected_as_often_as_it_says():
    """Two systems of equal skill, three seeds each, whose seeds fail on the same items: 5 % ± 1.5 % of 2,000 trials."""
    rng = np.random.default_rng(11)
    trials, seeds, items = 2000, 3, 80
    rejected = 0
    for trial in range(trials):
        gold = rng.integers(0, 4, items)
        # Each system finds some items hard in every seed: the seeds of a system are similar, items differ.
        hard = rng.beta(1, 1, (2, 1, items))
        correct = rng.binomial(gold, hard, (2, seeds, items))
        guessed = correct + rng.binomial(2, 0.3, (2, seeds, items))
        counts = np.stack([correct, guessed, np.broadcast_to(gold, correct.shape)], axis=3).astype(float)
        rejected += randomisation(counts[0], counts[1], F1.score, rounds=199, seed=trial) <= 0.05
    assert abs(rejected / trials - 0.05) <= 0.015


def outcomes(*, won, lost, both=3, none=2):
    ours = [1] * won + [0] * lost + [1] * both + [0] * none
    theirs = [0] * won + [1] * lost + [1] * both + [0] * none
    return np.array(ours, dtype=np.uint8), np.array(theirs, dtype=np.uint8)


@pytest.mark.parametrize(
    ("won", "lost", "p"),
    [
        (0, 0, 1.0),
        (5, 0, 2 / 32),
        (0, 5, 2 / 32),
        (1, 7, 2 * (1 + 8) / 256),
        (8, 2, 2 * (1 + 10 + 45) / 1024),
        (4, 4, 1.0),
    ],
)
def test_mcnemar_by_hand(won, lost, p):
    assert mcnemar(*outcomes(won=won, lost=lost)) == pytest.approx(p, abs=1e-12)


def test_mcnemar_refuses_other_items():
    with pytest.raises(ValueError, match="against"):
        mcnemar(np.ones(3), np.ones(4))


@pytest.mark.parametrize(("items", "only_ours", "only_theirs"), [(1000, 0.12, 0.085), (2000, 0.11, 0.09)])
def test_a_simulated_effect_is_found_with_the_power_of_the_closed_form(items, only_ours, only_theirs):
    """± 5 points of Connor's formula (1987, Biometrics 43); ± 3 of the exact test's own, a little lower."""
    rng = np.random.default_rng(3)
    trials, found = 2000, 0
    apart, gap = only_ours + only_theirs, only_ours - only_theirs
    for _ in range(trials):
        cell = rng.random(items)
        found += mcnemar(cell < only_ours, (cell >= only_ours) & (cell < apart)) <= 0.05
    connor = norm.cdf((gap * sqrt(items) - norm.ppf(0.975) * sqrt(apart)) / sqrt(apart - gap**2))
    assert 0.2 < connor < 0.9
    assert abs(found / trials - connor) <= 0.05
    m = np.arange(items + 1)  # items that exactly one system has right
    low = binom.ppf(0.025, m, 0.5)
    low -= 2 * binom.cdf(low, m, 0.5) > 0.05  # up to here, and as many from above, is rejected
    rejects = binom.cdf(low, m, only_ours / apart) + binom.sf(m - low - 1, m, only_ours / apart)
    assert abs(found / trials - binom.pmf(m, items, apart) @ rejects) <= 0.03


@pytest.mark.parametrize(
    ("p", "adjusted"),
    [
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # 4 · 0.005, 3 · 0.01, 2 · 0.03, and never below those
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
        ([0.5, 0.9, 0.4], [1.0, 1.0, 1.0]),  # 3 · 0.4 is above 1
        ([0.001, 0.2, 0.9], [0.003, 0.4, 0.9]),
        ([], []),
    ],
)
def test_holm_by_hand(p, adjusted):
    assert holm(p) == pytest.approx(adjusted, abs=1e-15)
