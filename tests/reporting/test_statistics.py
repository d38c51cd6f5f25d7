"""By hand, against a printed table of Student's t, and the ELMo paper's table 1."""

from math import sqrt

import pytest

from elmo_bench.reporting.significance import relative_reduction, summarise


def test_mean_and_sample_deviation():
    summary = summarise([2, 4, 4, 4, 5, 5, 7, 9])  # squares of the deviations sum to 32
    assert (summary.n, summary.mean) == (8, 5.0)
    assert summary.sd == pytest.approx(sqrt(32 / 7), abs=1e-12)
    assert str(summary) == "5.00 ± 2.14"


def test_one_figure_has_no_deviation():
    assert summarise([3.0]).sd is None
    assert str(summarise([3.0])) == "3.00"
    with pytest.raises(ValueError, match="at least one"):
        summarise([])


@pytest.mark.parametrize(
    ("figures", "mean", "reach"),
    [
        ([1, 2, 3], 2.0, 4.302653 / sqrt(3)),  # two degrees of freedom, 97.5 %
        ([4, 6], 5.0, 12.706205 * sqrt(2) / sqrt(2)),  # one
        ([2, 4, 4, 4, 5, 5, 7, 9], 5.0, 2.364624 * sqrt(32 / 7) / sqrt(8)),  # seven
    ],
)
def test_students_interval(figures, mean, reach):
    assert summarise(figures).interval == pytest.approx((mean - reach, mean + reach), abs=1e-5)


@pytest.mark.parametrize(
    ("baseline", "elmo", "printed"),
    [
        (81.1, 85.8, 24.9),
        (88.0, 88.7, 5.8),
        (81.4, 84.6, 17.2),
        (67.2, 70.4, 9.8),
        (90.15, 92.22, 21),
        (51.4, 54.7, 6.8),
    ],
)
def test_relative_reduction_as_the_paper_prints_it(baseline, elmo, printed):
    assert relative_reduction(elmo, baseline) == pytest.approx(printed, abs=0.05)
