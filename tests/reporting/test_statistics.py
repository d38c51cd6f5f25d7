"""Figures by hand."""

import math

import pytest

from elmo_bench.reporting.statistics import ahead, difference, summarise


def test_mean_and_sample_deviation():
    summary = summarise([2, 4, 4, 4, 5, 5, 7, 9])  # squares of the deviations sum to 32
    assert (summary.n, summary.mean) == (8, 5.0)
    assert summary.sd == pytest.approx(math.sqrt(32 / 7), abs=1e-12)
    assert str(summary) == "5.00 ± 2.14"


def test_one_figure_has_no_deviation():
    assert summarise([3.0]).sd is None
    assert str(summarise([3.0])) == "3.00"
    with pytest.raises(ValueError, match="at least one"):
        summarise([])


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ({0: 11, 1: 12, 2: 13}, {0: 9, 1: 10, 2: 11}, "ahead"),  # 2 > max(1, 1)
        ({0: 11, 1: 12, 2: 13}, {0: 10, 1: 11, 2: 12}, "neither"),  # 1 is not larger than 1
        ({0: 12, 1: 12, 2: 12}, {0: 8, 1: 10, 2: 12}, "neither"),  # 2 is not larger than max(0, 2)
        ({0: 9, 1: 10, 2: 11}, {0: 11, 1: 12, 2: 13}, "behind"),
        ({0: 5}, {0: 1}, "neither"),
        ({0: 5, 1: 99}, {0: 1, 2: 0}, "neither"),  # only seed 0 is common
        ({0: 10, 1: 12, 7: -90}, {0: 8, 1: 8, 8: 100}, "ahead"),  # over seeds 0 and 1: 3 > sqrt 2
    ],
)
def test_ahead_by_more_than_the_spread(ours, theirs, verdict):
    assert ahead(ours, theirs) is (verdict == "ahead")
    assert ahead(theirs, ours) is (verdict == "behind")


def test_the_difference_is_paired():
    found = difference({0: 10, 1: 20, 2: 30}, {0: 9, 1: 18, 2: 27, 3: 1000})  # 1, 2, 3
    assert (found.n, found.mean, found.sd) == (3, 2.0, 1.0)
    assert difference({0: 1}, {1: 1}) is None
