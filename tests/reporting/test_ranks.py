"""Ranks of several encoders: intervals that hold as often as they say."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.families import ALPHA
from elmo_bench.reporting.pairs import all_pairs
from elmo_bench.reporting.ranks import ranks
from elmo_bench.reporting.significance import difference, holm, mean_interval, over_seeds
from tests.reporting.frames import runs_in, systems_in
from tests.reporting.ledgers import fill, right_on

REPETITIONS = 200
LEAST = 0.95 - 2 * (0.05 * 0.95 / REPETITIONS) ** 0.5


def ranks_of(scores, verdicts, pairs=()):
    """{encoder: (mean, low, high)}. scores: by task and encoder; verdicts: by task the (winner, loser) of each pair.

    pairs: of encoders that are compared; by default all.
    """
    rows = []
    for task, by_encoder in scores.items():
        for ours, theirs in pairs or combinations(by_encoder, 2):
            won, lost = (ours, theirs) in verdicts[task], (theirs, ours) in verdicts[task]
            verdict = "ahead" if won else "behind" if lost else "tie"
            rows.append((task, ours, theirs, by_encoder[ours] - by_encoder[theirs], verdict))
    table = ranks(pd.DataFrame(rows, columns=["task", "our_name", "their_name", "gain", "verdict"]))
    return {row.Index: (row.mean, row.low, row.high) for row in table.itertuples()}


def test_a_rank_is_the_mean_over_tasks_and_its_interval_counts_verdicts():
    scores = {"t": {"a": 9.0, "b": 5.0, "c": 5.0}, "u": {"a": 1.0, "b": 2.0, "c": 3.0}}
    verdicts = {"t": {("a", "b"), ("a", "c")}, "u": {("c", "a")}}
    assert ranks_of(scores, verdicts) == {
        "a": ((1 + 3) / 2, (1 + 2) / 2, (1 + 3) / 2),
        "b": ((2.5 + 2) / 2, (2 + 1) / 2, (3 + 3) / 2),
        "c": ((2.5 + 1) / 2, (2 + 1) / 2, (3 + 2) / 2),
    }


def simulated(rng, skills, *, items=120, seeds=3):
    """(scores, difference of each pair) of encoders with these skills, on items and seeds that are drawn anew."""
    hard = rng.normal(size=items)
    arms = []
    for skill in skills:
        chance = norm.cdf(skill + hard + rng.normal(0, 0.08, size=(seeds, 1)))
        arms.append((rng.random((seeds, items)) < chance)[..., None].astype(float))
    score = lambda sums: 100 * sums[..., 0] / items  # noqa: E731
    means = [score(arm.sum(axis=1)) for arm in arms]
    spread = [over_seeds(list(mean)) for mean in means]
    pairs = combinations(range(len(skills)), 2)
    tests = {(i, j): difference(arms[i], arms[j], score, (spread[i], spread[j])) for i, j in pairs}
    return {number: float(mean.mean()) for number, mean in enumerate(means)}, tests


def coverage(tasks, *, repetitions=REPETITIONS):
    """How often all intervals hold at once."""
    rng, count = np.random.default_rng(1), len(tasks[0])
    truth = [np.mean([1 + sum(other > own[e] for other in own) for own in tasks]) for e in range(count)]
    # All repetitions are one table, in which each has encoders of its own.
    scores = {number: {} for number in range(len(tasks))}
    winners = {number: set() for number in range(len(tasks))}
    pairs = []
    for repetition in range(repetitions):
        drawn = [simulated(rng, skills) for skills in tasks]
        adjusted = iter(holm([test.p for _, tests in drawn for test in tests.values()]))
        for number, (means, tests) in enumerate(drawn):
            scores[number] |= {(repetition, encoder): mean for encoder, mean in means.items()}
            for one, other in tests:
                better, worse = (one, other) if means[one] > means[other] else (other, one)
                if next(adjusted) <= ALPHA:
                    winners[number].add(((repetition, better), (repetition, worse)))
        pairs += [((repetition, one), (repetition, other)) for one, other in combinations(range(count), 2)]
    table = ranks_of(scores, winners, pairs)
    held = []
    for repetition in range(repetitions):
        bounds = [table[repetition, encoder][1:] for encoder in range(count)]
        held.append(all(low <= rank <= high for rank, (low, high) in zip(truth, bounds, strict=True)))
    return np.mean(held)


EQUAL = [(0.0,) * 4, (0.3,) * 4]
CLOSE = [(0.0, 0.05, 0.1, 0.9), (0.0, 0.0, 0.5, 0.6)]


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [EQUAL, CLOSE])
def test_intervals_of_ranks_hold_at_once_in_95_percent_of_repetitions(tasks):
    assert coverage(tasks) >= LEAST


def test_the_interval_of_a_mean_over_tasks_holds_in_95_percent_of_repetitions_and_is_not_wide():
    rng, skills = np.random.default_rng(2), [(0.0, 0.4), (0.5, 0.6), (0.2, 0.2)]
    deviation = (2 + 0.08**2) ** 0.5  # of an answer: of itself, of an item's difficulty, of a seed
    truth = 100 * np.mean([norm.cdf(one / deviation) - norm.cdf(other / deviation) for one, other in skills])
    bounds = np.array(
        [mean_interval([simulated(rng, own, items=150)[1][0, 1] for own in skills]) for _ in range(REPETITIONS)]
    )
    held = np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))
    reach, error = np.mean(bounds[:, 1] - bounds[:, 0]) / 2, np.std(bounds.mean(axis=1))
    assert held >= LEAST
    assert reach < 1.5 * norm.ppf(0.975) * error
    assert abs(bounds.mean() - truth) < 4 * error / REPETITIONS**0.5


def test_every_pair_is_tested_once_and_adjusted_for_all(tmp_path):
    fill(tmp_path, "ner snli", "none glove mybert", seeds=3)
    fill(tmp_path, "ner snli", "elmo", seeds=3, lift=0.1)
    comparisons = compare(runs_in(tmp_path), all_pairs(systems_in(tmp_path)))
    assert len(comparisons) == 12
    assert list(comparisons.p_holm) == pytest.approx(holm(list(comparisons.p)), abs=0)
    table = ranks(comparisons)
    assert table["mean"]["elmo"] == 1.0 and table["mean"]["none"] == 4.0
    for row in table.itertuples():
        assert 1 <= row.low <= row.mean <= row.high <= 4


@pytest.mark.parametrize("first", ["glove", "elmo"])
def test_a_rank_whose_interval_a_verdict_narrows_whichever_comes_first(tmp_path, first):
    for seed in (0, 1):
        right_on(tmp_path, "glove", [seed], seed=seed)
        right_on(tmp_path, "elmo", range(8 + seed), seed=seed)
    table = systems_in(tmp_path).sort_values("encoder", ascending=first == "elmo")
    pairs = all_pairs(table)
    assert list(pairs.our_name) == [first]
    rows = ranks(compare(runs_in(tmp_path), pairs))
    assert rows.loc["elmo"].tolist() == [1, 1, 1]
    assert rows.loc["glove"].tolist() == [2, 2, 2]
