"""Variances over seeds and items, their sum, and Holm's adjustment: by hand, against scipy, and in simulations."""

from math import sqrt
from statistics import variance

import numpy as np
import pytest
from scipy.stats import norm, ttest_ind

from benchmarks import verdicts
from elmo_bench.base.metric import columns, main_figure, summed_names
from elmo_bench.reporting.significance import (
    Difference,
    Variance,
    _summed,
    difference,
    holm,
    over_seeds,
    relative_reduction,
    summarise,
)
from elmo_bench.spec.names import metric_of

METRIC = metric_of("sst5")
NAMES = summed_names(METRIC, [])
ACCURACY, F1 = (main_figure(metric, summed_names(metric, [])) for metric in (METRIC, metric_of("ner")))
NONE = Variance(0.0, 9)
SEEDS = NONE, NONE


def right(*seeds):
    """Counts [seeds, items, 2] of items that are right (1) or wrong."""
    return np.stack([columns(METRIC, {"correct": np.array(seed)}, NAMES) for seed in seeds])


def test_of_single_items_it_is_the_variance_of_a_mean():
    ours, theirs = [1, 1, 1, 0, 1, 0], [1, 0, 0, 0, 1, 1]
    over = difference(right(ours), right(theirs), ACCURACY, SEEDS).items
    gaps = [100 * (one - other) for one, other in zip(ours, theirs, strict=True)]
    assert over.value == pytest.approx(variance(gaps) / 6, rel=1e-12)
    assert over.df == 5


def test_of_clusters_it_is_the_variance_of_their_means():
    ours, theirs = [1, 1, 1, 0, 1, 0], [1, 0, 0, 0, 0, 1]
    over = difference(right(ours), right(theirs), ACCURACY, SEEDS, np.array([4, 7, 4, 2, 2, 7])).items
    gaps = [100 * mean for mean in (0.5, 0.0, 0.5)]  # clusters 4, 7 and 2
    assert over.value == pytest.approx(variance(gaps) / 3, rel=1e-12)
    assert over.df == 2


def test_of_a_ratio_it_is_what_the_bootstrap_says():
    rng = np.random.default_rng(4)
    gold = rng.integers(0, 4, 400)

    def system():
        correct = rng.binomial(gold, 0.6, (2, 400))
        every = [correct, correct + rng.integers(0, 2, (2, 400)), np.broadcast_to(gold, (2, 400)), np.ones((2, 400))]
        return np.stack(every, axis=2)

    ours, theirs = system().astype(float)[:1], system().astype(float)[:1]
    over = difference(ours, theirs, F1, SEEDS).items
    drawn = rng.multinomial(400, np.full(400, 1 / 400), size=4000).astype(float)  # [rounds, items]
    gaps = [F1(np.einsum("ri,sik->rsk", drawn, side)).mean(axis=1) for side in (ours, theirs)]
    assert over.value == pytest.approx((gaps[0] - gaps[1]).var(), rel=0.1)


def test_seeds_vary_at_least_as_much_as_their_items_show():
    ours, theirs = right([1, 1, 0, 0], [0, 0, 1, 1]), right([1, 0, 0, 0])  # two seeds with 50 %, on other items
    least = difference(ours, theirs, ACCURACY, (Variance(0.0, 1), Variance(3.0, 2)))
    noise = 2 * np.var([50, 50, -50, -50], ddof=1) / 4 / 2
    assert least.seeds == (Variance(pytest.approx(noise), 1), Variance(3.0, 2))
    assert least.mean == 25.0


def subsets(rng, *, better, paired):
    """The p-value of two systems with three seeds each; equal seeds share a subset, which shifts both by the same."""
    shift = rng.normal(0, 0.05, (3, 1)) + rng.normal(0, 0.005, (2, 3, 1)) + np.array([better, 0.0])[:, None, None]
    chance = 0.5 + rng.normal(0, 0.15, 500)
    arms = (rng.random((2, 3, 500)) < np.clip(chance + shift, 0, 1)).astype(float)
    scores = 100 * arms.mean(axis=2)
    seeds = [scores[0] - scores[1]] if paired else [*scores]
    return difference(right(*arms[0]), right(*arms[1]), ACCURACY, [*map(over_seeds, seeds)], paired=paired).p


@pytest.mark.slow
def test_pairing_by_seed_keeps_the_rate_of_false_alarms_and_finds_more():
    rng = np.random.default_rng(7)
    alarms, detected, unpaired = (
        np.mean([subsets(rng, better=better, paired=paired) <= 0.05 for _ in range(400)])
        for better, paired in ((0.0, True), (0.08, True), (0.08, False))
    )
    assert alarms <= 0.08  # 3 standard errors above 5 %
    assert detected > unpaired + 0.1


def test_with_seeds_alone_it_is_welchs_test():
    ours, theirs = [61.0, 63.5, 64.0, 60.2], [58.0, 59.0, 63.0]
    gap = float(np.mean(ours) - np.mean(theirs))
    own = Difference(gap, (over_seeds(ours), over_seeds(theirs)), NONE)
    welch = ttest_ind(ours, theirs, equal_var=False)
    assert own.p == pytest.approx(welch.pvalue, rel=1e-9)
    assert own.interval == pytest.approx(tuple(welch.confidence_interval()), rel=1e-9)
    assert own.df == pytest.approx(welch.df, rel=1e-9)


def test_what_could_be_detected():
    own = Difference(0.0, (Variance(0.5, 1e9), Variance(0.5, 1e9)), Variance(3.0, 1e9))
    assert own.detectable == pytest.approx(2 * (norm.ppf(0.975) + norm.ppf(0.8)), rel=1e-6)  # 80 % power, z test


@pytest.mark.parametrize(("mean", "p"), [(0.0, 1.0), (0.1, 0.0)])
def test_without_any_variance_equal_is_equal(mean, p):
    own = Difference(mean, (NONE, NONE), NONE)
    assert (own.p, own.df, own.interval) == (p, float("inf"), (mean, mean))


def test_arms_that_are_right_on_the_same_items_are_equal():
    """The means of two and of seven seeds differ in the last bit, which an error of zero would make certain."""
    right = np.array([1.0] * 6 + [0.0])[None, :, None]

    def percent(sums):
        return 100 * sums[..., 0] / 7

    means = [percent(np.repeat(right, seeds, axis=0).sum(axis=1)).mean() for seeds in (2, 7)]
    assert 0 < abs(means[0] - means[1]) < 1e-12
    arms = [np.repeat(right, seeds, axis=0) for seeds in (2, 7)]
    tested = difference(*arms, percent, [Variance(0.0, 1), Variance(0.0, 6)])
    assert (tested.mean, tested.error, tested.p) == (0.0, 0.0, 1.0)


def test_a_simulated_null_is_rejected_seldom_and_an_effect_is_found():
    world = verdicts.World("quick", 400, 200, (1.0, 1.0))
    three = verdicts.EVEN[0]
    assert verdicts.rate(world, design=three, better=0.0, trials=400) <= 0.08  # 3 standard errors above 5 %
    assert verdicts.rate(world, design=three, better=20.0, trials=20) == 1.0


@pytest.mark.parametrize("design", verdicts.UNEVEN, ids=lambda design: design.name)
def test_every_design_is_simulated(design):
    world = verdicts.World("quick", 100, 50, (1.0, 1.0))
    assert verdicts.rate(world, design=design, better=40.0, trials=5) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("design", verdicts.EVEN, ids=lambda design: design.name)
@pytest.mark.parametrize("world", verdicts.WORLDS, ids=lambda world: world.name)
def test_false_alarms(world, design):
    even = world.seeds[0] == world.seeds[1]
    assert verdicts.rate(world, design=design, better=0.0, trials=2000) <= (0.065 if even else 0.085)


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


def test_mean_and_sample_deviation():
    summary = summarise([2, 4, 4, 4, 5, 5, 7, 9])  # squares of the deviations sum to 32
    assert (summary.n, summary.mean) == (8, 5.0)
    assert summary.sd == pytest.approx(sqrt(32 / 7), abs=1e-12)
    assert str(summary) == "5.00 ± 2.14"


def test_of_a_baseline_without_errors_there_is_no_reduction():
    assert relative_reduction(90.0, 100.0) is None
    assert relative_reduction(90.0, 80.0) == 50.0


@pytest.mark.parametrize("shape", [(0, 2, 3), (1, 1, 1), (400, 3, 4)])
def test_sums_of_clusters_have_the_bits_of_sums_one_by_one(shape):
    draw = np.random.default_rng(1)
    parts = draw.random(shape) / 3
    clusters = draw.integers(5, 50, shape[0])
    _, number = np.unique(clusters, return_inverse=True)
    expected = np.zeros((number.max(initial=-1) + 1, *shape[1:]))
    np.add.at(expected, number, parts)
    assert np.array_equal(_summed(parts, clusters), expected)
