"""By hand, and the power of a simulated effect against closed forms."""

from math import sqrt

import numpy as np
import pytest
from scipy.stats import binom, norm

from elmo_bench.reporting.mcnemar import mcnemar


def outcomes(*, won, lost, both=3, none=2):
    ours = [1] * won + [0] * lost + [1] * both + [0] * none
    theirs = [0] * won + [1] * lost + [1] * both + [0] * none
    return np.array(ours, dtype=np.uint8), np.array(theirs, dtype=np.uint8)


@pytest.mark.parametrize(
    ("won", "lost", "p"),
    [
        (0, 0, 1.0),
        (5, 0, 2 / 32),
        (0, 5, 2 / 32),
        (1, 7, 2 * (1 + 8) / 256),
        (8, 2, 2 * (1 + 10 + 45) / 1024),
        (4, 4, 1.0),
    ],
)
def test_by_hand(won, lost, p):
    assert mcnemar(*outcomes(won=won, lost=lost)) == pytest.approx(p, abs=1e-12)


def test_other_items_are_refused():
    with pytest.raises(ValueError, match="against"):
        mcnemar(np.ones(3), np.ones(4))


@pytest.mark.parametrize(("items", "only_ours", "only_theirs"), [(1000, 0.12, 0.085), (2000, 0.11, 0.09)])
def test_a_simulated_effect_is_found_with_the_power_of_the_closed_form(items, only_ours, only_theirs):
    """± 5 points of Connor's formula (1987, Biometrics 43); ± 3 of the exact test's own, a little lower."""
    rng = np.random.default_rng(3)
    trials, found = 2000, 0
    apart, gap = only_ours + only_theirs, only_ours - only_theirs
    for _ in range(trials):
        cell = rng.random(items)
        found += mcnemar(cell < only_ours, (cell >= only_ours) & (cell < apart)) <= 0.05
    connor = norm.cdf((gap * sqrt(items) - norm.ppf(0.975) * sqrt(apart)) / sqrt(apart - gap**2))
    assert 0.2 < connor < 0.9
    assert abs(found / trials - connor) <= 0.05
    m = np.arange(items + 1)  # items that one system alone has right
    low = binom.ppf(0.025, m, 0.5)
    low -= 2 * binom.cdf(low, m, 0.5) > 0.05  # up to here, and as many from above, is rejected
    rejects = binom.cdf(low, m, only_ours / apart) + binom.sf(m - low - 1, m, only_ours / apart)
    assert abs(found / trials - binom.pmf(m, items, apart) @ rejects) <= 0.03
