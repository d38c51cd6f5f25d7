"""Learning curves: by the amount of training data, and by training step."""

from collections.abc import Sequence
from math import exp

import numpy as np
import pandas as pd

from elmo_bench.reporting.canvas import Drawing, Made, chart
from elmo_bench.reporting.gains import Gain, Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import EXPLORATORY, ROW, Cell, Line, gain_cells, make_table, number, scores
from elmo_bench.spec.experiments import Experiment

PAIRED = (
    "Tests on a fraction are paired by seed and by item: seed k of both encoders has the subset that seed k draws, and "
    "only seeds that both have count. On all of the data seeds are not paired."
)
SHARE = "share of the training data"


def fractions(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table and learning curves for each group, called as for any amount of training data.

    Runs that differ in the amount alone, of encoders with two or more shares. The tests of all tables are one family.
    """
    runs = [
        (group.any_amount.basis, group.any_amount, row, row.encoder, share, row.summary("test").mean)
        for group in groups
        for row in group.rows
        if experiment.variant_of(row.spec) and (share := group.share(row)) is not None
    ]
    frame = pd.DataFrame(runs, columns=["basis", "group", "row", "encoder", "share", "score"])
    frame = frame[frame.groupby(["basis", "encoder"])["share"].transform("nunique") > 1]
    own = [points.sort_values(["share", "encoder"]) for _, points in frame.groupby("basis", sort=False)]
    gains, tables, figures = family_of([p for points in own for p in over_baseline([*points["row"]])], gain), [], []
    for points in own:
        group: Group = points["group"].iloc[0]
        lines = [_of_share(group, *point, points, gains) for point in zip(points["row"], points["share"], strict=True)]
        tables.append(make_table(*group.titles(experiment), lines, notes=[EXPLORATORY, PAIRED]))
        drawn = points[["encoder", "share", "score"]].set_axis(["encoder", SHARE, f"test {group.measure}"], axis=1)
        drawn["sd"] = [row.summary("test").sd or 0.0 for row in points["row"]]
        message = _said(experiment, group, points, gains)
        figures.append(chart(*group.titles(experiment), drawn, message=message, share=True, task=group.task))
    return tables, figures


def _said(experiment: Experiment, group: Group, points: pd.DataFrame, gains: dict[str, Gain]) -> str:
    """The gain of the experiment's encoder with the largest share, and with the smallest one where a gain is shown."""
    name = experiment.encoder
    own = [(row, share) for row, share in zip(points["row"], points["share"], strict=True) if row.encoder == name]
    known = [(gains[row.anchor], share) for row, share in own if row.anchor in gains]
    if not known:
        return f"{group.label()}: test scores by the amount of training data"
    shown = [point for point in known if point[0].verdict != "tie"] or known
    told = dict.fromkeys(f"{gain.mean:.1f} points with {percent(share)}" for gain, share in (shown[0], known[-1]))
    return f"{group.label()}: {name} gains {', '.join(told)} of the training data".replace("-", "−")


def _of_share(group: Group, row: Row, share: float, points: pd.DataFrame, gains: dict[str, Gain]) -> Line:
    gain, need = gains.get(row.anchor), Cell()
    if gain and BASELINE in set(points["encoder"]):
        needs, bound = needed(row.summary("test").mean, points)
        need = Cell(f"{bound} {percent(needs)}".strip(), {"share": needs, "bound": bound})
    return {
        "share": Cell(percent(share), {"": share}),
        "examples": number(row.train, ","),
        "encoder": row.encoder,
        **scores(row, group.measure, "test"),
        **gain_cells(gain),
        f"{BASELINE} needs": need,
    }


def needed(score: float, points: pd.DataFrame) -> tuple[float, str]:
    """The share of the data with which the baseline scores as high; a bound, `<` or `>`, if its runs do not reach that.

    Between two runs its curve is straight over the logarithm of the share.
    """
    baseline = points[points["encoder"] == BASELINE]
    shares, reached = baseline["share"].to_numpy(), baseline["score"].to_numpy()
    if score > reached.max():
        return shares[-1], ">"
    at = int((reached >= score).argmax())
    if at == 0:
        return shares[0], "<" if reached[0] > score else ""
    return exp(np.interp(score, reached[at - 1 : at + 1], np.log(shares[at - 1 : at + 1]))), ""


SOON = (
    f"Gains are of dev scores over {BASELINE}, without verdicts: the question is how soon, and table 1 asks how much."
)
EPOCHS = [2**k for k in range(12)]  # after which gains are shown, and at the end


def speed(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table of gains at equal steps, and a figure of the dev scores of each task."""
    lines, figures, x = list[Line](), list[Drawing](), "training steps"
    for group in (group for group in groups if not group.basis.fraction):
        rows = {row.encoder: row for row in group.rows if experiment.variant_of(row.spec)}
        curves = {name: curve_of(rows[name]) for name in sorted(rows, key=experiment.position)}
        if BASELINE in rows and len(rows) > 1:  # the baseline is first
            points = pd.concat(curves, names=["encoder", x]).rename(f"best dev {group.measure} so far").reset_index()
            both = pd.concat(curves, axis=1).sort_index().ffill()
            over = {name: (both[name] - both[BASELINE]).dropna() for name in curves}
            message = _lead(experiment, group, over, rows[BASELINE])
            figures.append(chart(*group.titles(experiment), points, message=message, steps=True, task=group.task))
            lines += [_soon(group, rows[name], over[name], rows[BASELINE]) for name in curves if name != BASELINE]
    title = f"{experiment.caption}: gains over {BASELINE} on dev at equal steps, suite {suite}"
    return [make_table(f"{suite}-{experiment.name}", title, lines, notes=[SOON])] if lines else [], figures


def curve_of(row: Row) -> pd.Series:
    """The best dev score so far by training step, the mean over seeds, from where every seed has a score.

    A seed that has ended keeps its score.
    """
    kept = [record["curves"] for record in row.records]
    seeds = [pd.Series(each["dev"], index=pd.Series(each["steps"]).cumsum()).cummax() for each in kept]
    return pd.concat(seeds, axis=1).sort_index().ffill().dropna().mean(axis=1)


def _lead(experiment: Experiment, group: Group, every: dict[str, pd.Series], baseline: Row) -> str:
    """How far an encoder, the experiment's or else the last, is ahead of the baseline at most and at the end."""
    name = experiment.encoder if experiment.encoder in every else max(every, key=experiment.position)
    over = every[name]
    most, end = over.idxmax(), over.iloc[-1]
    epoch = max(1, (pd.Series(baseline.newest["curves"]["steps"]).cumsum() <= most).sum())
    if over[most] <= max(end, 0):
        said = f"never further ahead of {BASELINE} than at the end, {end:+.1f} points".replace("-", "−")
    else:
        last = f"{end:.1f}" if end >= 0 else f"{-end:.1f} behind"
        said = f"{over[most]:.1f} points ahead of {BASELINE} after epoch {epoch}, {last} at the end"
    return f"{group.label()}: {name} is {said}"


def _soon(group: Group, row: Row, over: pd.Series, baseline: Row) -> Line:
    """The gain after 1, 2, 4, … epochs and at the end."""
    steps = max((pd.Series(record["curves"]["steps"]).cumsum() for record in baseline.records), key=len)
    gains = {epoch: over.asof(steps[epoch - 1]) for epoch in EPOCHS if epoch <= len(steps)}
    return {
        ROW: row,
        "task": group.heading,
        "encoder": row.encoder,
        **{f"epoch {epoch}": number(gains.get(epoch), "+.2f") for epoch in EPOCHS},
        "end": number(over.iloc[-1], "+.2f", suffix=f" {row.mark or baseline.mark}"),
    }
