"""How soon the encoders learn, by training step; and the learning rates, chosen for the baseline on dev."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from elmo_bench.reporting.canvas import Made, chart
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import Cell, Line, make_table, marked, number, spread, words
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.settings import RATE

SOON = (
    f"Gains are of dev scores over {BASELINE}, without verdicts: the question is how soon, and table 1 asks how much."
)
RATES = (
    "Exploratory. × 1 is the task's learning rate of today. It stays unless another is better for "
    f"{BASELINE}, over the same seeds, by more than one point and by more than twice the standard error of the "
    f"difference. Gains are of dev scores over {BASELINE}."
)
STEPS = "training steps"

Tuned = dict[str, dict[float, Row]]  # by encoder and factor


def speed(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table of gains at equal steps, a figure of them, and one of the dev scores of each task."""
    every = [(group, rows_of(experiment, group)) for group in groups if not group.basis.fraction]
    every = [(group, rows) for group, rows in every if BASELINE in rows and len(rows) > 1]
    if not every:
        return [], []
    lines, figures, gains = [], [], []
    # The last epoch of the baseline with most epochs, over all tasks.
    longest = max(len(record["curves"]["dev"]) for _, rows in every for record in rows[BASELINE].records)
    epochs = [2**k for k in range(longest.bit_length()) if 2**k <= longest]
    for group, rows in every:
        curves = {name: curve_of(row) for name, row in rows.items()}
        frame = pd.concat(
            [_points(name, STEPS, f"best dev {group.metric} so far", own) for name, own in curves.items()]
        )
        titles = group.titles(experiment)
        figures.append(chart(*titles, frame, heading=group.label("\n"), steps=True, task=group.task))
        lines += [_soon(group, name, rows, curves, epochs) for name in rows if name != BASELINE]
        name = experiment.encoder if experiment.encoder in rows else [n for n in rows if n != BASELINE][-1]
        called = group.label() + ("" if name == experiment.encoder else f", {name}")
        over = difference(curves[name], curves[BASELINE])
        gains.append(_points(called, STEPS, f"points of {experiment.encoder} over {BASELINE} on dev", over))
    stem, title = f"{suite}-{experiment.name}", f"gains over {BASELINE} on dev at equal steps, suite {suite}"
    tasks = [group.task for group, rows in every for name in rows if name != BASELINE]
    table = make_table(stem, f"{experiment.caption}: {title}", lines, tasks=tasks, notes=[SOON])
    return [table], [*figures, chart(stem, f"G{title[1:]}", pd.concat(gains), steps=True)]


def rows_of(experiment: Experiment, group: Group) -> dict[str, Row]:
    """By encoder, in the experiment's order."""
    order = [variant.key for variant in experiment.variants]
    rows = {row.encoder: row for row in group.rows if experiment.variant_of(row.spec)}
    return {n: rows[n] for n in sorted(rows, key=lambda n: (order.index(n) if n in order else len(order), n))}


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


def _points(name: str, x: str, y: str, curve: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"encoder": name, x: curve.index, y: curve.to_numpy()})


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
