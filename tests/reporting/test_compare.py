"""Two systems whose tests are worked out by hand."""

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths, write_record
from elmo_bench.reporting.compare import Scored, paired_test, with_outcomes


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


def test_one_seed_is_mcnemars(scored):
    found = paired_test([scored(9)], [scored(3, encoder="glove")])
    assert (found.name, found.items) == ("McNemar", 10)
    assert found.p == pytest.approx(2 / 64, abs=1e-12)  # six items, all ours


def test_common_seeds_are_swapped_together(scored):
    ours = [scored(right, seed=seed) for seed, right in enumerate((8, 9, 10, 1))]
    theirs = [scored(right, seed=seed, encoder="glove") for seed, right in ((4, 9), (2, 2), (1, 2), (0, 2))]
    found = paired_test(ours, theirs)
    assert (found.name, found.items) == ("randomisation", 10)
    # Items 3 to 8 differ in three seeds, item 9 in two, item 10 in one: only all of one sign add to 21, 2 of 2^8.
    assert found.p == pytest.approx(2 / 256, abs=0.003)
    assert found == paired_test(ours, theirs)


def test_two_records_of_one_seed_are_refused(scored):
    with pytest.raises(ValueError, match="two records of one seed"):
        paired_test([scored(9), scored(8)], [scored(3)])


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
        paired_test([scored(9)], [scored(3, encoder="glove", **changes)])
    assert "\n" not in str(found.value)


def test_outcomes_of_other_names_are_not_compared(scored):
    theirs = scored(3)
    theirs.outcomes["tokens"] = np.ones(10, dtype=np.uint8)
    with pytest.raises(UserError, match="of other items than"):
        paired_test([scored(9)], [theirs])


def test_from_the_ledger(scored, tmp_path):
    one = scored(7)
    write_record(RunPaths.of(tmp_path, one.record), one.record, one.outcomes)
    [found] = with_outcomes(tmp_path, [one.record])
    assert found.record == one.record
    assert found.outcomes["correct"].tolist() == [1] * 7 + [0] * 3
