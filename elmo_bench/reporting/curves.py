"""Learning curves: by the amount of training data, by training step, and by learning rate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log

import pandas as pd

from elmo_bench.reporting.canvas import Drawing, Made, chart
from elmo_bench.reporting.gains import Gain, Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import (
    EXPLORATORY,
    Cell,
    Line,
    Table,
    gain_cells,
    make_table,
    marked,
    number,
    score,
    seeds,
    spread,
    words,
)
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.settings import RATE

PAIRED = (
    "Tests on a fraction are paired by seed and by item: seed k of both encoders has the subset that seed k draws, and "
    "only seeds that both have count. On all of the data seeds are not paired."
)
SHARE = "share of the training data"


def fractions(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table and learning curves for each family. The tests of all tables are one family of tests."""
    own = families(experiment, groups)
    gains = family_of([pair for points in own for pair in over_baseline(list(points["row"]))], gain)
    return [_share_table(experiment, each, gains) for each in own], [_curves(experiment, each) for each in own]


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


def _share_table(experiment: Experiment, points: pd.DataFrame, gains: dict[str, Gain]) -> Table:
    lines: list[Line] = []
    group: Group = points["group"].iloc[0]
    for row, share in zip(points["row"], points["share"], strict=True):
        run, own = row.anchor, gains.get(row.anchor)
        line: Line = {
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
    return chart(*group.titles(experiment), frame, heading=group.label("\n"), share=True, task=group.task)


SOON = (
    f"Gains are of dev scores over {BASELINE}, without verdicts: the question is how soon, and table 1 asks how much."
)
RATES = (
    "Exploratory. × 1 is the task's learning rate of today. It stays unless another is better for "
    f"{BASELINE}, over the same seeds, by more than one point and by more than twice the standard error of the "
    f"difference. Gains are of dev scores over {BASELINE}."
)

Tuned = dict[str, dict[float, Row]]  # by encoder and factor


def speed(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table of gains at equal steps, and a figure of the dev scores of each task."""
    every = [(group, rows_of(experiment, group)) for group in groups if not group.basis.fraction]
    every = [(group, rows) for group, rows in every if BASELINE in rows and len(rows) > 1]
    if not every:
        return [], []
    lines, figures, x = list[Line](), list[Drawing](), "training steps"
    # The last epoch of the baseline with most epochs, over all tasks.
    longest = max(len(record["curves"]["dev"]) for _, rows in every for record in rows[BASELINE].records)
    epochs = [2**k for k in range(longest.bit_length()) if 2**k <= longest]
    for group, rows in every:
        curves = {name: curve_of(row) for name, row in rows.items()}
        points = pd.concat(curves, names=["encoder", x]).rename(f"best dev {group.metric} so far").reset_index()
        heading = group.label("\n")
        figures.append(chart(*group.titles(experiment), points, heading=heading, steps=True, task=group.task))
        lines += [_soon(group, name, rows, curves, epochs) for name in rows if name != BASELINE]
    stem, title = f"{suite}-{experiment.name}", f"gains over {BASELINE} on dev at equal steps, suite {suite}"
    tasks = [group.task for group, rows in every for name in rows if name != BASELINE]
    table = make_table(stem, f"{experiment.caption}: {title}", lines, tasks=tasks, notes=[SOON])
    return [table], figures


def rows_of(experiment: Experiment, group: Group) -> dict[str, Row]:
    """By encoder, in the experiment's order."""
    rows = {row.encoder: row for row in group.rows if experiment.variant_of(row.spec)}
    return {name: rows[name] for name in sorted(rows, key=experiment.position)}


def curve_of(row: Row) -> pd.Series:
    """The best dev score so far by training step, the mean over seeds, from where every seed has a score.

    A seed that has ended keeps its score.
    """
    kept = [record["curves"] for record in row.records]
    seeds = [pd.Series(each["dev"], index=pd.Series(each["steps"]).cumsum()).cummax() for each in kept]
    return pd.concat(seeds, axis=1).sort_index().ffill().dropna().mean(axis=1)


def difference(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """By step, where both have a score."""
    both = pd.concat([ours, theirs], axis=1).sort_index().ffill().dropna()
    return both[0] - both[1]


def _soon(
    group: Group, name: str, rows: Mapping[str, Row], curves: Mapping[str, pd.Series], epochs: Sequence[int]
) -> Line:
    """The gain after 1, 2, 4, … epochs and at the end, and when the encoder is level with the baseline."""
    row, baseline, curve, theirs = rows[name], rows[BASELINE], curves[name], curves[BASELINE]
    steps = max((pd.Series(r["curves"]["steps"]).cumsum() for r in baseline.records), key=len)
    over, run = difference(curve, theirs), row.anchor
    ends = {epoch: steps[epoch - 1] for epoch in epochs if epoch <= len(steps)}
    gains = {epoch: over.asof(end) for epoch, end in ends.items() if end >= over.index[0]}
    best, level = theirs.iloc[-1], curve[curve >= theirs.iloc[-1]].index.min()
    return {
        "task": words(group.heading),
        "encoder": words(name, run=run),
        **{f"epoch {epoch}": number(gains.get(epoch), "+.2f", run=run) for epoch in epochs},
        "end": marked(number(curve.iloc[-1] - best, "+.2f", run=run), row.mark or baseline.mark),
        "steps an epoch": number(int(steps[0]), ",", run=run),
        f"steps of {BASELINE} to its best": number(int(theirs[theirs >= best].index.min()), ",", run=baseline.anchor),
        "steps to the same score": Cell("never", {"": None}, run)
        if pd.isna(level)
        else number(int(level), ",", run=run),
    }


def tuning(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """One table, a row a task and encoder; none without a task that has the baseline at two rates or more."""
    own = [(group, tuned(experiment, group)) for group in groups if not group.basis.fraction]
    own = [(group, rows) for group, rows in own if len(rows.get(BASELINE, {})) > 1]
    factors = sorted({factor for _, tuned in own for rows in tuned.values() for factor in rows})
    lines = [_tuned(group, name, rows, factors) for group, rows in own for name in rows]
    title, tasks = f"{experiment.caption}: learning rates, suite {suite}", [g.task for g, rows in own for _ in rows]
    return [make_table(f"{suite}-{experiment.name}", title, lines, tasks=tasks, notes=[RATES])] if lines else [], []


def tuned(experiment: Experiment, group: Group) -> Tuned:
    """The runs of a group that differ in the learning rate and in what else the experiment sweeps, with its seeds.

    Of encoders (with these other changes) that have several rates, and of the baseline.
    """
    seeds, own = experiment.values("seed") or [0], Tuned()
    for row in group.rows:
        records = tuple(record for record in row.records if record["seed"] in seeds)
        if records and (variant := experiment.variant_of(row.spec)):
            other = [f"{key}={value}" for key, value in row.variation.items() if key != RATE]
            name = ", ".join([row.encoder, *other])
            own.setdefault(name, {})[variant.options[experiment.axis]] = replace(row, records=records)
    order = sorted(own, key=lambda name: (name != BASELINE, name))
    return {name: dict(sorted(own[name].items())) for name in order if name == BASELINE or len(own[name]) > 1}


def chosen(rows: Mapping[float, Row]) -> float:
    """The factor with the best dev score; of equal ones the nearest to 1."""
    return max(rows, key=lambda factor: (rows[factor].summary("dev").mean, -abs(factor - 1)))


def _tuned(group: Group, name: str, tuned: Tuned, factors: Sequence[float]) -> Line:
    rows, baseline = tuned[name], tuned[BASELINE]
    best, usual = rows[chosen(rows)], rows.get(1)
    # The deviation over all seeds of this run, not the experiment's alone.
    whole = next((row for row in group.rows if usual and row.spec == usual.spec), None)

    def dev(row: Row | None) -> Cell:
        return spread(row.summary("dev"), run=row.anchor, mark=row.mark) if row else Cell()

    def gain(ours: Row | None, theirs: Row | None) -> Cell:
        if ours is None or theirs is None or name == BASELINE:
            return Cell()
        over = ours.summary("dev").mean - theirs.summary("dev").mean
        return marked(number(over, "+.2f", run=ours.anchor), ours.mark or theirs.mark)

    return {
        "task": words(group.heading),
        "encoder": words(name),
        "dev": words(group.metric),
        **{f"× {factor:g}": dev(rows.get(factor)) for factor in factors},
        "± seeds": number(whole.summary("dev").sd if whole else None),
        "best": number(chosen(rows), "g", run=best.anchor),
        "its rate": number(best.spec.settings[RATE], "g", run=best.anchor),
        "gain at × 1": gain(usual, baseline.get(1)),
        "gain, each at its best": gain(best, baseline[chosen(baseline)]),
    }
