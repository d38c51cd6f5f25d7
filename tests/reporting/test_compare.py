"""Two systems whose difference is worked out by hand."""

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.gains import Scored, compare
from elmo_bench.reporting.significance import Variance


@pytest.fixture
def scored(make_record):
    """`scored(right items of 10, seed=…) -> Scored`: accuracy, the first items right."""

    def scored(right, *, seed=0, stored=None, items=10, **changes):
        correct = np.array([1] * right + [0] * (items - right), dtype=np.uint8)
        stored = 100 * right / items if stored is None else stored
        scores = {split: {"overall": {"accuracy": stored}} for split in ("dev", "test")}
        record = make_record(seed=seed, metric="accuracy", scores=scores, **{"formula": "accuracy"} | changes)
        return Scored(record, {"correct": correct})

    return scored


def test_all_seeds_count_whether_the_other_has_them_or_not(scored):
    ours = [scored(right, seed=seed) for seed, right in enumerate((8, 9))]
    theirs = [scored(right, seed=seed, encoder="glove") for seed, right in ((4, 2), (1, 2), (7, 2))]
    found = compare(ours, theirs)
    assert found.mean == 65.0
    gaps, noise = [0, 0, *[100] * 6, 50, 0], [*[0] * 8, 50, 0]  # by item; only our two seeds differ, in the ninth
    assert found.variance == Variance(pytest.approx((np.var(gaps, ddof=1) - np.var(noise, ddof=1)) / 10), 9)


def test_clusters_are_the_items(scored):
    ours, theirs = scored(8), scored(2, encoder="glove")
    for side in (ours, theirs):
        side.outcomes["cluster"] = np.arange(10) // 5
    found = compare([ours], [theirs])
    assert found.variance == Variance(pytest.approx(0.0), 1)  # 3 of 5 in both


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"suite": "paper"}, "suite is open and paper"),
        ({"task": "parsing"}, "task is tagging and parsing"),
        ({"settings": {"task.version": 2}}, "task version is 1 and 2"),
        ({"formula": "f1-counts"}, "formula is accuracy and f1-counts"),
        ({"stored": 31.0}, "its outcomes give 30.00, its record says 31.00"),
        ({"items": 20, "stored": 15.0}, "of other items than"),
    ],
)
def test_only_comparable_runs_are_compared(scored, changes, error):
    with pytest.raises(UserError, match=error) as found:
        compare([scored(9)], [scored(3, encoder="glove", **changes)])
    assert "\n" not in str(found.value)


def test_a_single_item_has_no_variance(scored):
    with pytest.raises(UserError, match="outcomes are of a single item"):
        compare([scored(1, items=1)], [scored(0, items=1)])
