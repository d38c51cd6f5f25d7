"""Two systems whose figures are worked by hand."""

from math import sqrt

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import RunPaths, write_record
from elmo_bench.reporting.compare import MCNEMAR, RANDOMISATION, Comparison, Scored, adjusted, compare, with_outcomes
from elmo_bench.reporting.statistics import summarise


@pytest.fixture
def scored(make_record):
    """`scored(right items of 10, seed=…) -> Scored`: accuracy, the first items right."""

    def scored(right, *, seed=0, said=None, items=10, **changes):
        correct = np.array([1] * right + [0] * (items - right), dtype=np.uint8)
        said = 100 * right / items if said is None else said
        scores = {split: {"overall": {"accuracy": said}} for split in ("dev", "test")}
        record = make_record(seed=seed, metric="accuracy", scores=scores, **changes)
        return Scored(record, {"correct": correct})

    return scored


def test_one_seed_is_mcnemars(scored):
    found = compare([scored(9)], [scored(3, encoder="glove")])
    assert (found.ours.mean, found.theirs.mean, found.gain.mean, found.interval) == (90.0, 30.0, 60.0, None)
    assert (found.test, found.items, found.seeds) == (MCNEMAR, 10, (0,))
    assert found.p == pytest.approx(2 / 64, abs=1e-12)  # six items, all ours
    assert found.reduction == pytest.approx(100 * 60 / 70, abs=1e-12)
    assert found.verdict == "ahead"
    assert compare([scored(3)], [scored(9)]).verdict == "behind"


def test_common_seeds_are_swapped_together(scored):
    ours = [scored(right, seed=seed) for seed, right in enumerate((8, 9, 10, 1))]
    theirs = [scored(right, seed=seed, encoder="glove") for seed, right in ((4, 9), (2, 2), (1, 2), (0, 2))]
    found = compare(ours, theirs)
    assert (found.test, found.seeds) == (RANDOMISATION, (0, 1, 2))  # gains of 60, 70 and 80 points
    assert (found.gain.mean, found.gain.sd) == pytest.approx((70.0, 10.0))
    assert found.interval == pytest.approx((70 - 43.02653 / sqrt(3), 70 + 43.02653 / sqrt(3)), abs=1e-4)
    # Items 3 to 8 differ in three seeds, item 9 in two, item 10 in one: only all of one sign add to 21, 2 of 2^8.
    assert found.p == pytest.approx(2 / 256, abs=0.003)
    assert found == compare(ours, theirs)


def test_no_seed_in_common(scored):
    assert compare([scored(9)], [scored(3, seed=1)]) is None
    with pytest.raises(ValueError, match="two records of one seed"):
        compare([scored(9), scored(8)], [scored(3)])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"suite": "paper"}, "suite open and paper"),
        ({"task": "parsing"}, "task tagging and parsing"),
        (
            {"data": {"fingerprint": "0" * 64, "counts": {"train": 1, "dev": 1, "test": 10}}},
            "data ffffffffffff and 0000",
        ),
        ({"said": 31.0}, "amount to 30.00 where the record says 31.00"),
        ({"items": 20, "said": 15.0}, "not of the same items"),
    ],
)
def test_unlike_things_are_not_compared(scored, changes, said):
    with pytest.raises(UserError, match=said) as error:
        compare([scored(9)], [scored(3, encoder="glove", **changes)])
    assert "\n" not in str(error.value)


def test_outcomes_of_other_names_are_not_compared(scored):
    theirs = scored(3)
    theirs.outcomes["tokens"] = np.ones(10, dtype=np.uint8)
    with pytest.raises(UserError, match="not of the same items"):
        compare([scored(9)], [theirs])


def test_a_tie_after_holm(scored):
    def result(p):
        gain = summarise([1.0, 2.0])
        return Comparison(ours=gain, theirs=gain, gain=gain, test=RANDOMISATION, p=p, items=9, seeds=(0, 1))

    table = [result(0.03), result(0.01), result(0.04)]
    assert [one.verdict for one in table] == ["ahead"] * 3
    found = adjusted(table)
    assert [one.p_holm for one in found] == pytest.approx([0.06, 0.03, 0.06])
    assert [one.verdict for one in found] == ["tie", "ahead", "tie"]
    assert compare([scored(5)], [scored(5, encoder="glove")]).verdict == "tie"


def test_from_the_ledger(scored, tmp_path):
    one = scored(7)
    write_record(RunPaths.of(tmp_path, one.record), one.record, one.outcomes)
    [found] = with_outcomes(tmp_path, [one.record])
    assert found.record == one.record
    assert found.outcomes["correct"].tolist() == [1] * 7 + [0] * 3
