"""Tests that are judged together: adjusted p, verdicts, intervals that hold together.

Verdicts are by Holm's procedure, whose p-values `significance.holm` adjusts. It gives
no two-sided intervals: of a difference that it shows, it says the sign alone. The
intervals of a family are Bonferroni's, each of m tests at the confidence 1 - 0.05 / m.
In 95 of 100 repetitions all verdicts of a family are right, and in 95 of 100 all of its
intervals. The interval of a tie contains zero. Holm's procedure shows a few differences
that these intervals do not, so the interval of such a difference contains zero, too. To
cut it there would promise more than the 95 of 100.

A tie hides a difference that its test would have missed. Holm's procedure tests the
smallest p that it does not reject at 0.05 / (m - r), after r rejections: the power of a
tie is the power at this level.
"""

from math import nan

import numpy as np
import pandas as pd

from elmo_bench.reporting.significance import LEVEL, Difference, holm

ALPHA = 1 - LEVEL
JUDGED_BY = ["purpose", "family"]  # the tests that have both in common are a family
# The verdict of a test with ours and theirs exchanged.
REVERSED = {"ahead": "behind", "behind": "ahead", "tie": "tie", "": ""}


def judged_together(table: pd.DataFrame) -> pd.DataFrame:
    """Comparisons with what follows from the other tests of their family.

    Adds `p_holm`; `verdict`, which is ahead, behind or tie at 0.05 by it, and empty
    without p; `tests`, how many have a p; `family_low` and `family_high`, the interval
    that holds together with all others; `family_level`, the level at which the test of
    a tie did not reject; and `family_detectable`, the smallest true difference that it
    finds in 80 % of repetitions at this level. All but the verdict are missing without
    p.
    """
    keys = [table[name] for name in JUDGED_BY]
    by_family = table.p.groupby(keys)
    p_holm = by_family.transform(_adjusted) if len(table) else table.p
    decided = table.gain.gt(0).map({True: "ahead", False: "behind"})
    verdict = decided.where(p_holm <= ALPHA, "tie").where(p_holm.notna(), "")
    tests = by_family.transform("count")
    shown = verdict.isin(["ahead", "behind"]).groupby(keys).transform("sum")
    table = table.assign(p_holm=p_holm, verdict=verdict, tests=tests)
    bounds = []
    for row in zip(table.difference, verdict, tests, shown, strict=True):
        bounds.append(_bounds(*row))
    names = ["family_low", "family_high", "family_level", "family_detectable"]
    columns = np.array(bounds, dtype=float).reshape(len(table), len(names))
    return table.assign(**dict(zip(names, columns.T, strict=True)))


def _adjusted(p: pd.Series) -> pd.Series:
    """Adjusted for the number of tests; missing where `p` is."""
    tested = p.dropna()
    return pd.Series(holm(tested.tolist()), tested.index, float).reindex(p.index)


def _bounds(
    difference: Difference | None, verdict: str, tests: int, shown: int
) -> tuple[float, float, float, float]:
    """The interval of a test in its family; of a tie its level and what it hides."""
    if difference is None or not verdict:
        return nan, nan, nan, nan
    low, high = difference.interval_at(ALPHA / tests)
    if verdict != "tie":
        return low, high, nan, nan
    level = ALPHA / (tests - shown)
    return low, high, level, difference.detectable_at(level)
