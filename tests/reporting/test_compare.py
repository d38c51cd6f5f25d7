"""Two systems whose difference is worked out by hand."""

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.gains import Scored, compare


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


@pytest.mark.parametrize(
    ("changes", "error"),
    [
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
