"""Tests that are judged together: verdicts by Holm, intervals by Bonferroni."""

import numpy as np
import pandas as pd
import pytest

from elmo_bench.reporting.families import judged_together
from elmo_bench.reporting.significance import Difference, Variance


def family(means, error=1.0, df=20.0, name="one"):
    """Made-up comparisons with this standard error."""
    differences = [Difference(mean, (Variance(error**2, df),), Variance(0.0, df)) for mean in means]
    rows = [(mean, each.p, each, "", name) for mean, each in zip(means, differences, strict=True)]
    return pd.DataFrame(rows, columns=["gain", "p", "difference", "purpose", "family"])


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_of_a_tie_contains_zero_and_one_without_zero_is_of_a_shown_difference(seed):
    rng = np.random.default_rng(seed)
    judged = judged_together(family(rng.normal(0, 3, size=rng.integers(1, 30)).tolist()))
    for row in judged.itertuples():
        assert row.family_low < row.gain < row.family_high
        if row.verdict == "tie":
            assert row.family_low < 0 < row.family_high, row
        elif row.p * row.tests <= 0.05:
            assert not row.family_low < 0 < row.family_high, row
    assert (judged.tests == len(judged)).all()


def test_an_interval_is_bonferronis_also_where_holm_alone_shows_the_difference():
    judged = judged_together(family([4.0, 3.1, 2.6, 0.5]))
    assert list(judged.verdict) == ["ahead", "ahead", "ahead", "tie"]
    for row in judged.itertuples():
        assert (row.family_low, row.family_high) == row.difference.interval_at(0.05 / 4)
    first, second, third, _ = judged.family_low
    assert third < 0 < second < first
    mirrored = judged_together(family([-4.0, -3.1, -2.6, -0.5]))
    assert list(mirrored.family_high) == [-low for low in judged.family_low]


@pytest.mark.parametrize("zeros", [3, 9])
def test_all_intervals_of_a_family_are_right_in_95_of_100_repetitions(zeros):
    """Of 18 tests, some of no difference and others of large ones."""
    rng = np.random.default_rng(zeros)
    true = np.repeat([0.0, 6.0], [zeros, 18 - zeros])
    means = true + rng.normal(size=(400, 18))
    repetitions = family(means.ravel().tolist(), df=np.inf).assign(family=np.repeat(range(400), 18))
    judged = judged_together(repetitions)
    low, high = (judged[name].to_numpy().reshape(400, 18) for name in ("family_low", "family_high"))
    right = ((low < true) & (true < high)).all(axis=1)
    assert right.mean() > 0.95 - 2 * np.sqrt(0.05 * 0.95 / 400)


def test_the_power_of_a_tie_is_that_of_its_step_of_holms_procedure():
    judged = judged_together(family([4.0, 3.1, 1.0, 0.5]))
    assert list(judged.verdict) == ["ahead", "ahead", "tie", "tie"]
    for row in judged[judged.verdict == "tie"].itertuples():
        assert row.family_detectable == row.difference.detectable_at(0.05 / 2) > row.difference.detectable
    assert judged.family_detectable.isna().tolist() == [True, True, False, False]


def test_families_are_apart_and_what_is_not_tested_has_no_interval():
    table = pd.concat([family([3.0, 0.1]), family([3.0], name="two")], ignore_index=True)
    table.loc[1, "p"] = np.nan
    judged = judged_together(table)
    assert list(judged.tests) == [1, 1, 1] and list(judged.verdict) == ["ahead", "", "ahead"]
    assert judged.family_low.isna().tolist() == [False, True, False]
    assert judged_together(table.iloc[:0]).empty
