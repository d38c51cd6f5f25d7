"""Learning curves by the amount of training data."""

from collections.abc import Mapping
from math import exp
from typing import Any

import numpy as np
import pandas as pd

from elmo_bench.reporting.charts import BARS, chart
from elmo_bench.reporting.figures import Drawing, figure
from elmo_bench.reporting.formats import (
    gain_formats,
    number,
    score,
    seeds,
    with_minus,
    words,
)
from elmo_bench.reporting.names import BASELINE, percent
from elmo_bench.reporting.pairs import baseline_pairs
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.selection import with_variants
from elmo_bench.reporting.tables import (
    EXPLORATORY,
    Format,
    Line,
    Table,
    make_table,
    present,
    table,
    with_gains,
)
from elmo_bench.spec.experiments import Experiment

PAIRED = (
    "Tests on a fraction are paired by seed and by item: seed k of both encoders has "
    "the subset that seed k draws, and only seeds that both have count. On all of the "
    "data seeds are not paired."
)
SHARE = "share of the training data"


def select(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The systems that differ in the amount of data alone, of encoders with two or more
    shares of it.
    """
    table = with_variants(systems, experiment)
    table = table[table.share.notna()]
    shares = table.groupby(["home", "encoder_label"]).share.transform("nunique")
    table = table[shares > 1]
    homes = {home: position for position, home in enumerate(dict.fromkeys(table.home))}
    table = table.assign(_home=table.home.map(homes))
    return table.sort_values(["_home", "share", "encoder_label"], kind="stable").drop(
        columns="_home"
    )


def pairs(systems: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """Each system and its baseline with as much data."""
    return baseline_pairs(systems)


@table("fractions", select=select, pairs=pairs)
def fractions(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Table]:
    """A table for each group, called as for any amount of training data. The tests of
    all tables are one family.
    """
    tables = []
    for _, points in with_gains(systems, comparisons).groupby("home", sort=False):
        first = points.iloc[0]
        formats = [
            Format("share", lambda line: percent(line["share"]), {"": "share"}),
            number("examples", "train", ","),
            words("encoder", "encoder_label"),
            score("test", first.metric_name),
            seeds(),
            *gain_formats(),
            Format(
                f"{BASELINE} needs",
                _need,
                {"share": "needed_share", "bound": "needed_bound"},
            ),
        ]
        title = f"{experiment.caption}: {first.home_heading}, suite {first.suite}"
        frame = points.assign(**_needs(points))
        stem = f"{first.home_stem}-{experiment.name}"
        tables.append(
            make_table(stem, title, frame, formats, notes=[EXPLORATORY, PAIRED])
        )
    return tables


def _need(line: Line) -> str:
    share = present(line.get("needed_share"))
    return "" if share is None else f"{line['needed_bound']} {percent(share)}".strip()


def _needs(points: pd.DataFrame) -> dict[str, list[Any]]:
    """What the baseline needs to score as high as each system compared with it."""
    shares, bounds = [], []
    has_baseline = BASELINE in set(points.encoder_label)
    for row in rows_of(points):
        share, bound = None, None
        if has_baseline and not pd.isna(row.gain):
            share, bound = needed(row.test_mean, points)
        shares.append(share)
        bounds.append(bound)
    return {"needed_share": shares, "needed_bound": bounds}


def needed(score_: float, points: pd.DataFrame) -> tuple[float, str]:
    """The share of the data with which the baseline scores as high; a bound, `<` or
    `>`, if its runs do not reach that.

    points: by share, with the columns encoder_label, share and test_mean. Between two
    runs the baseline's curve is straight over the logarithm of the share.
    """
    baseline = points[points.encoder_label == BASELINE]
    shares, reached = baseline.share.to_numpy(), baseline.test_mean.to_numpy()
    if score_ > reached.max():
        return shares[-1], ">"
    position = int((reached >= score_).argmax())
    if position == 0:
        return shares[0], "<" if reached[0] > score_ else ""
    between = slice(position - 1, position + 1)
    return exp(np.interp(score_, reached[between], np.log(shares[between]))), ""


@figure("fractions")
def draw(
    systems: pd.DataFrame, comparisons: pd.DataFrame, experiment: Experiment
) -> list[Drawing]:
    """A figure for each group: test scores by the share of the data, with a standard
    deviation.
    """
    figures = []
    for _, points in with_gains(systems, comparisons).groupby("home", sort=False):
        first = points.iloc[0]
        drawn = points[["encoder_label", "share", "test_mean"]]
        drawn = drawn.set_axis(["encoder", SHARE, f"test {first.metric_name}"], axis=1)
        drawn["sd"] = points.test_sd
        title = f"{experiment.caption}: {first.home_heading}, suite {first.suite}"
        stem = f"{first.home_stem}-{experiment.name}"
        message = _message(points, experiment)
        figures.append(
            chart(
                stem,
                title,
                drawn,
                message=message,
                bars=BARS,
                share=True,
                task=first.task,
            )
        )
    return figures


def _message(points: pd.DataFrame, experiment: Experiment) -> str:
    """The gain of the experiment's encoder with the largest share, and with the
    smallest one where a gain is shown.
    """
    title = points.home_title.iloc[0]
    gains = points[(points.encoder_label == experiment.encoder) & points.gain.notna()]
    if gains.empty:
        return f"{title}: test scores by the amount of training data"
    shown = gains[gains.verdict == "ahead"]
    smallest = shown.iloc[0] if len(shown) else gains.iloc[0]
    texts = dict.fromkeys([_points_with(smallest), _points_with(gains.iloc[-1])])
    return with_minus(
        f"{title}: {experiment.encoder} gains {', '.join(texts)} of the training data"
    )


def _points_with(row: Mapping[str, Any] | pd.Series) -> str:
    conclusion = "" if row["verdict"] == "ahead" else f" ({row['conclusion']})"
    return f"{row['gain']:.1f} points{conclusion} with {percent(row['share'])}"
