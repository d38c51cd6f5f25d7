"""Less training data: the same encoders on fractions of it, and how much data an encoder saves."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import pandas as pd

from elmo_bench.reporting.canvas import Drawing, Made, chart
from elmo_bench.reporting.gains import Gain, Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.rows import BASELINE
from elmo_bench.reporting.table import (
    EXPLORATORY,
    Cell,
    Line,
    Table,
    gain_cells,
    make_table,
    number,
    score,
    seeds,
    words,
)
from elmo_bench.spec.experiments import Experiment

PAIRED = (
    "Tests on a fraction are paired by seed and by item: seed k of both encoders has the subset that seed k draws, and "
    "only seeds that both have count. On all of the data seeds are not paired."
)
SHARE = "share of the training data"


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table and learning curves for each family, and one figure of how much data the encoders save.

    The tests of all tables are one family of tests.
    """
    own = families(experiment, groups)
    gains = family_of([pair for points in own for pair in over_baseline(list(points["row"]))], gain)
    drawn = [_curves(experiment, points) for points in own]
    return [_table(experiment, points, gains) for points in own], drawn + _saved(suite, own)


def families(experiment: Experiment, groups: Sequence[Group]) -> list[pd.DataFrame]:
    """Runs that differ in the amount of training data alone: columns group, row, encoder, share, score.

    Only encoders with two or more shares. The group is called as for any amount of data.
    """
    runs = [
        (replace(group.basis, fraction=()), group.any_amount, row, row.encoder, share, row.summary("test").mean)
        for group in groups
        for row in group.rows
        if experiment.variant_of(row.spec) and (share := group.share(row)) is not None
    ]
    frame = pd.DataFrame(runs, columns=["home", "group", "row", "encoder", "share", "score"])
    frame = frame[frame.groupby(["home", "encoder"])["share"].transform("nunique") > 1]
    return [own.sort_values(["share", "encoder"]) for _, own in frame.groupby("home", sort=False)]


def needed(score: float, points: pd.DataFrame) -> tuple[float, str]:
    """The share of the data with which the baseline scores as high; a bound, `<` or `>`, if its runs do not reach that.

    Between two runs its curve is straight over the logarithm of the share.
    """
    baseline = points[points["encoder"] == BASELINE]
    before = None
    for share, reached in zip(baseline["share"], baseline["score"], strict=True):
        if reached >= score:
            if before is None:
                return share, "" if reached == score else "<"
            along = (score - before[1]) / (reached - before[1])
            return exp(log(before[0]) + along * (log(share) - log(before[0]))), ""
        before = share, reached
    return share, ">"


def _table(experiment: Experiment, points: pd.DataFrame, gains: dict[str, Gain]) -> Table:
    lines: list[Line] = []
    group: Group = points["group"].iloc[0]
    for row, share in zip(points["row"], points["share"], strict=True):
        run, own = row.anchor, gains.get(row.anchor)
        line = {
            "share": Cell(percent(share), {"": share}, run),
            "examples": number(row.train, ",", run=run),
            "encoder": words(row.encoder, run=run),
            f"test {group.metric}": score(row, "test"),
            "seeds": seeds(row),
            **gain_cells(own),
        }
        if own and BASELINE in set(points["encoder"]):
            need, bound = needed(row.summary("test").mean, points)
            line[f"{BASELINE} needs"] = Cell(f"{bound} {percent(need)}".strip(), {"share": need, "bound": bound}, run)
        lines.append(line)
    mine = [gains.get(row.anchor) for row in points["row"]]
    return make_table(*group.titles(experiment), lines, tasks=group.task, gains=mine, notes=[EXPLORATORY, PAIRED])


def _curves(experiment: Experiment, points: pd.DataFrame) -> Drawing:
    """Test score over the share of the training data, a line an encoder."""
    group: Group = points["group"].iloc[0]
    frame = points.rename(columns={"share": SHARE, "score": f"test {group.metric}"}).sort_values(
        "encoder", kind="stable"
    )
    frame["sd"] = [row.summary("test").sd or 0.0 for row in frame["row"]]
    frame = frame[["encoder", SHARE, f"test {group.metric}", "sd"]]
    return chart(*group.titles(experiment), frame, heading=group.label("\n"), shares="x", task=group.task)


def _saved(suite: str, families: Sequence[pd.DataFrame]) -> list[Drawing]:
    """How much data the baseline needs for the score of another encoder; none without a curve of both."""
    needs = [
        (f"{group.label()}, {encoder}", share, *needed(score, points))
        for points in families
        if BASELINE in set(points["encoder"])
        for _, group, _, encoder, share, score in points.sort_values("encoder", kind="stable").itertuples(index=False)
        if encoder != BASELINE
    ]
    frame = pd.DataFrame(
        needs, columns=["encoder", SHARE, f"share that {BASELINE} needs\nhollow: beyond its runs", "bound"]
    )
    frame["hollow"] = frame.pop("bound") != ""
    title = f"Sample efficiency, suite {suite}"
    return [chart(f"{suite}-efficiency", title, frame, shares="xy")] if needs else []
