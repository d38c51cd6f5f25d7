"""Ranks of several encoders: tie groups, and intervals that hold as often as they say."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from elmo_bench.ledger import read_ledger
from elmo_bench.reporting.gains import ALPHA, gains_from
from elmo_bench.reporting.ranks import Rank, letters_of, ranks_of, standings
from elmo_bench.reporting.rows import select
from elmo_bench.reporting.significance import Difference, holm, mean_interval, over_items, over_seeds
from tests.reporting.ledgers import add

REPETITIONS = 200
LEAST = 0.95 - 2 * (0.05 * 0.95 / REPETITIONS) ** 0.5


def test_encoders_share_a_letter_if_and_only_if_no_test_separates_them():
    assert letters_of("abc", []) == {"a": "a", "b": "a", "c": "a"}
    assert letters_of("abc", [("a", "c")]) == {"a": "a", "b": "ab", "c": "b"}
    assert letters_of("abc", [("a", "b"), ("a", "c"), ("b", "c")]) == {"a": "a", "b": "b", "c": "c"}
    rng = np.random.default_rng(0)
    for size in (4, 6, 7):
        names = [f"n{number}" for number in range(size)]
        pairs = [*combinations(names, 2)]
        verdicts = [pair for pair in pairs if rng.random() < 0.5]
        found = letters_of(names, verdicts)
        for one, other in pairs:
            assert bool(set(found[one]) & set(found[other])) == ((one, other) not in verdicts)


def test_a_rank_is_the_mean_over_tasks_and_its_interval_counts_verdicts():
    scores = {"t": {"a": 9.0, "b": 5.0, "c": 5.0}, "u": {"a": 1.0, "b": 2.0, "c": 3.0}}
    verdicts = {"t": {("a", "b"), ("a", "c")}, "u": {("c", "a")}}
    assert ranks_of(scores, verdicts) == {
        "a": Rank((1 + 3) / 2, (1 + 2) / 2, (1 + 3) / 2),
        "b": Rank((2.5 + 2) / 2, (2 + 1) / 2, (3 + 3) / 2),
        "c": Rank((2.5 + 1) / 2, (2 + 1) / 2, (3 + 2) / 2),
    }


def simulated(rng, skills, *, items=120, seeds=3):
    """(scores, p of each pair) of encoders with these skills, on items and seeds of one task that are drawn anew."""
    hard = rng.normal(size=items)
    arms = []
    for skill in skills:
        chance = norm.cdf(skill + hard + rng.normal(0, 0.08, size=(seeds, 1)))
        arms.append((rng.random((seeds, items)) < chance)[..., None].astype(float))
    score = lambda sums: 100 * sums[..., 0] / items  # noqa: E731
    means = [score(arm.sum(axis=1)) for arm in arms]
    spread = [over_seeds(list(mean)) for mean in means]
    pairs = combinations(range(len(skills)), 2)
    p = {(i, j): Difference.of(over_items(arms[i], arms[j], score), (spread[i], spread[j])).p for i, j in pairs}
    return {number: float(mean.mean()) for number, mean in enumerate(means)}, p


def coverage(tasks, adjust, *, repetitions=REPETITIONS):
    """(how often all intervals hold at once, their mean width)."""
    rng, count = np.random.default_rng(1), len(tasks[0])
    truth = [np.mean([1 + sum(other > own[e] for other in own) for own in tasks]) for e in range(count)]
    held, widths = 0, []
    for _ in range(repetitions):
        found = [simulated(rng, skills) for skills in tasks]
        after = iter(adjust([p for _, tests in found for p in tests.values()]))
        verdicts, scores = {}, {}
        for number, (own, tests) in enumerate(found):
            scores[number] = own
            ordered = [pair if own[pair[0]] > own[pair[1]] else pair[::-1] for pair in tests]
            verdicts[number] = {pair for pair in ordered if next(after) <= ALPHA}
        ranks = ranks_of(scores, verdicts)
        held += all(ranks[e].low <= truth[e] <= ranks[e].high for e in range(count))
        widths += [rank.high - rank.low for rank in ranks.values()]
    return held / repetitions, np.mean(widths)


EQUAL = [(0.0,) * 4, (0.3,) * 4]
CLOSE = [(0.0, 0.05, 0.1, 0.9), (0.0, 0.0, 0.5, 0.6)]
APART = [(0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 2.0, 3.0)]


@pytest.mark.parametrize("tasks", [EQUAL, CLOSE, APART])
def test_intervals_of_ranks_hold_at_once_in_95_percent_of_repetitions(tasks):
    held, _ = coverage(tasks, holm)
    assert held >= LEAST


def test_without_the_adjustment_they_do_not():
    assert coverage(EQUAL * 2, list)[0] < 0.85


def test_the_interval_of_a_mean_over_tasks_holds_in_95_percent_of_repetitions_and_is_not_wide():
    rng, skills = np.random.default_rng(2), [(0.0, 0.4), (0.5, 0.6), (0.2, 0.2)]
    deviation = (2 + 0.08**2) ** 0.5  # of an answer: of itself, of an item's difficulty, of a seed
    truth = 100 * np.mean([norm.cdf(other / deviation) - norm.cdf(one / deviation) for one, other in skills])
    found = np.array([mean_interval([_one(rng, own) for own in skills]) for _ in range(REPETITIONS)])
    held = np.mean((found[:, 0] <= truth) & (truth <= found[:, 1]))
    reach, error = np.mean(found[:, 1] - found[:, 0]) / 2, np.std(found.mean(axis=1))
    assert held >= LEAST
    assert reach < 1.5 * norm.ppf(0.975) * error
    assert abs(found.mean() - truth) < 4 * error / REPETITIONS**0.5


def _one(rng, skills):
    items = 150
    hard, score = rng.normal(size=items), lambda sums: 100 * sums[..., 0] / items
    arms = [
        (rng.random((3, items)) < norm.cdf(skill + hard + rng.normal(0, 0.08, size=(3, 1))))[..., None].astype(float)
        for skill in skills
    ]
    seeds = [over_seeds(list(score(arm.sum(axis=1)))) for arm in arms]
    return Difference.of(over_items(arms[1], arms[0], score), tuple(seeds[::-1]))


def test_standings_test_every_pair_once_and_adjust_for_all(tmp_path):
    for task in ("ner", "snli"):
        for encoder in ("none", "glove", "elmo", "mybert"):
            for seed in range(3):
                add(tmp_path, task, encoder, seed, lift=0.1 if encoder == "elmo" else 0.0)
    rows = select(read_ledger(tmp_path)[0]).rows
    chosen = {t: {row.encoder: row for row in rows if row.spec.task == t} for t in ("ner", "snli")}
    found = standings(chosen, gains_from(tmp_path))
    assert len(found.gains) == 12
    assert [g.p_holm for g in found.gains] == holm([g.p for g in found.gains])
    assert found.ranks["elmo"].mean == 1.0 and found.ranks["none"].mean == 4.0
    assert found.letters["ner"]["elmo"] == "a" and "a" not in found.letters["ner"]["none"]
    for rank in found.ranks.values():
        assert 1 <= rank.low <= rank.mean <= rank.high <= 4
