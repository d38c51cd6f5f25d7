"""How several encoders rank over tasks, with intervals.

An encoder's rank on a task is 1 plus the number of encoders with a higher true score.
Tests of all pairs on all tasks, adjusted together (Holm), give an interval: at least 1
plus the number of encoders that are shown ahead, and at most the number of encoders
less those that are shown behind. As long as no verdict errs, which Holm's adjustment
gives at least 95 % of repetitions, all of these intervals hold at once, and so do their
means over tasks. Ties make an interval wide. It speaks of these tasks, with other seeds
and other items, and not of other tasks.

Source: Mogstad, Romano, Shaikh and Wilhelm (2024), Inference for ranks with
applications to mobility across neighbourhoods and academic achievement across
countries, Review of Economic Studies 91. A bootstrap of ranks fails where scores are
nearly equal (Hall and Miller 2009, Annals of Statistics 37). The critical differences
of Friedman's test (Demšar 2006, Journal of Machine Learning Research 7) take tasks for
a sample, and six are too few for that.
"""

import pandas as pd


def ranks(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The mean rank of each encoder over tasks with its interval: columns mean, low and
    high, by name.

    comparisons: of `all_pairs`, the same encoders on each task. Equal scores share the
    mean of their ranks.
    """
    ours = pd.DataFrame({
        "name": comparisons.our_name,
        "task": comparisons.task,
        "below": comparisons.gain.lt(0) + comparisons.gain.eq(0) / 2,
        "ahead": comparisons.verdict == "ahead",
        "behind": comparisons.verdict == "behind",
    })  # fmt: skip
    theirs = pd.DataFrame({
        "name": comparisons.their_name,
        "task": comparisons.task,
        "below": comparisons.gain.gt(0) + comparisons.gain.eq(0) / 2,
        "ahead": comparisons.verdict == "behind",
        "behind": comparisons.verdict == "ahead",
    })  # fmt: skip
    both = pd.concat([ours, theirs])
    by_task = both.groupby(["name", "task"])[["below", "ahead", "behind"]].sum()
    others = both.groupby("name").size() / comparisons.task.nunique()
    mean = by_task.groupby("name").mean()
    return pd.DataFrame(
        {
            "mean": 1 + mean.below,
            "low": 1 + mean.behind,
            "high": 1 + others - mean.ahead,
        }
    )
