"""Learning curves: by the amount of training data, by training step, and by learning rate."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp

import numpy as np
import pandas as pd

from elmo_bench.reporting.canvas import Drawing, Made, chart
from elmo_bench.reporting.gains import Gain, Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import EXPLORATORY, ROW, Cell, Line, gain_cells, make_table, number, scores, spread
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.settings import RATE

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
        message = _said(experiment, group, points)
        figures.append(chart(*group.titles(experiment), drawn, message=message, share=True, task=group.task))
    return tables, figures


def _said(experiment: Experiment, group: Group, points: pd.DataFrame) -> str:
    """The gain with the smallest and with the largest share that the experiment's encoder and the baseline have."""
    by_share, name = points.pivot_table("score", "share", "encoder"), experiment.encoder
    if not {name, BASELINE} <= {*by_share.columns} or (both := by_share[[name, BASELINE]].dropna()).empty:
        return f"{group.label()}: test scores by the amount of training data"
    gains = both[name] - both[BASELINE]
    told = ", ".join(f"{over:.1f} points with {percent(share)}" for share, over in gains.iloc[[0, -1]].items())
    return f"{group.label()}: {name} gains {told} of the training data".replace("-", "−")


def _of_share(group: Group, row: Row, share: float, points: pd.DataFrame, gains: dict[str, Gain]) -> Line:
    gain, need = gains.get(row.anchor), Cell()
    if gain and BASELINE in set(points["encoder"]):
        needs, bound = needed(row.summary("test").mean, points)
        need = Cell(f"{bound} {percent(needs)}".strip(), {"share": needs, "bound": bound})
    return {
        "share": Cell(percent(share), {"": share}),
        "examples": number(row.train, ","),
        "encoder": row.encoder,
        **scores(row, group.metric, "test"),
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
RATES = (
    "Exploratory. × 1 is the task's learning rate of today. It stays unless another is better for "
    f"{BASELINE}, over the same seeds, by more than one point and by more than twice the standard error of the "
    f"difference. Gains are of dev scores over {BASELINE}."
)


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
            baseline, theirs = rows[BASELINE], curves.pop(BASELINE)
            lines += [
                _soon(group, rows[name], own, over[name], baseline=baseline, theirs=theirs)
                for name, own in curves.items()
            ]
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


def _soon(group: Group, row: Row, curve: pd.Series, over: pd.Series, *, baseline: Row, theirs: pd.Series) -> Line:
    """The gain after 1, 2, 4, … epochs and at the end, and when the encoder is level with the baseline."""
    steps = max((pd.Series(record["curves"]["steps"]).cumsum() for record in baseline.records), key=len)
    best, level = theirs.iloc[-1], curve[curve >= theirs.iloc[-1]].index.min()
    gains = {epoch: over.asof(steps[epoch - 1]) for epoch in EPOCHS if epoch <= len(steps)}
    return {
        ROW: row,
        "task": group.heading,
        "encoder": row.encoder,
        **{f"epoch {epoch}": number(gains.get(epoch), "+.2f") for epoch in EPOCHS},
        "end": number(curve.iloc[-1] - best, "+.2f", suffix=f" {row.mark or baseline.mark}"),
        "steps an epoch": number(int(steps[0]), ","),
        f"steps of {BASELINE} to its best": number(int(theirs[theirs >= best].index.min()), ",", run=baseline.anchor),
        "steps to the same score": Cell("never", {"": None}) if pd.isna(level) else number(int(level), ","),
    }


def tuning(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """One table, a row a task and encoder; none without a task that has the baseline at two rates or more."""
    own = [(group, tuned(experiment, group)) for group in groups if not group.basis.fraction]
    own = [(group, rows) for group, rows in own if len(rows.get(BASELINE, {})) > 1]
    factors = sorted({factor for _, rows in own for by_factor in rows.values() for factor in by_factor})
    lines = [line for group, rows in own for line in _tuned(group, rows, factors)]
    title = f"{experiment.caption}: learning rates, suite {suite}"
    return [make_table(f"{suite}-{experiment.name}", title, lines, notes=[RATES])] if lines else [], []


def tuned(experiment: Experiment, group: Group) -> dict[str, dict[float, Row]]:
    """By encoder (with its other changes) and factor the runs that differ in the rate, with the experiment's seeds.

    The baseline comes first; others need several rates.
    """
    seeds, own = experiment.values("seed") or [0], dict[str, dict[float, Row]]()
    for row in group.rows:
        records = tuple(record for record in row.records if record["seed"] in seeds)
        if records and (variant := experiment.variant_of(row.spec)):
            other = [f"{key}={value}" for key, value in row.variation.items() if key != RATE]
            name = ", ".join([row.encoder, *other])
            own.setdefault(name, {})[variant.options[experiment.axis]] = replace(row, records=records)
    order = sorted(own, key=lambda name: (name != BASELINE, name))
    return {name: own[name] for name in order if name == BASELINE or len(own[name]) > 1}


def _tuned(group: Group, by_name: dict[str, dict[float, Row]], factors: Sequence[float]) -> Iterator[Line]:
    dev = {name: {f: row.summary("dev").mean for f, row in rows.items()} for name, rows in by_name.items()}
    # Of equal factors the nearest to 1.
    best = {name: max(sorted(own), key=lambda f, own=own: (own[f], -abs(f - 1))) for name, own in dev.items()}  # type: ignore[misc]

    def gain(name: str, ours: float, theirs: float) -> Cell | None:
        if name == BASELINE or ours not in dev[name] or theirs not in dev[BASELINE]:
            return None
        row, over = by_name[name][ours], dev[name][ours] - dev[BASELINE][theirs]
        return number(over, "+.2f", run=row.anchor, suffix=f" {row.mark or by_name[BASELINE][theirs].mark}")

    for name, rows in by_name.items():
        chosen, usual = rows[best[name]], rows.get(1)
        # The deviation over all seeds of this run, not the experiment's alone.
        whole = next((row for row in group.rows if usual and row.spec == usual.spec), None)
        cells = {f: spread(row.summary("dev"), run=row.anchor, mark=row.mark) for f, row in rows.items()}
        yield {
            ROW: chosen,
            "task": group.heading,
            "encoder": name,
            "dev": group.metric,
            **{f"× {factor:g}": cells.get(factor) for factor in factors},
            "± seeds": number(whole.summary("dev").sd if whole else None),
            "best": number(best[name], "g"),
            "its rate": number(chosen.spec.settings[RATE], "g"),
            "gain at × 1": gain(name, 1, 1),
            "gain, each at its best": gain(name, best[name], best[BASELINE]),
        }
