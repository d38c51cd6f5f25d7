"""By hand."""

import pytest

from elmo_bench.reporting.holm import holm


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
def test_by_hand(p, adjusted):
    assert holm(p) == pytest.approx(adjusted, abs=1e-15)
