"""How soon the encoders learn, by training step; and the learning rates, chosen for the baseline on dev."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import fmean

from elmo_bench.reporting.canvas import Drawing, Trace, chart
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import Cell, Line, Table, make_table, marked, number, spread, words
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

Tuned = dict[str, dict[float, Row]]  # by encoder and factor


@dataclass(frozen=True)
class Curve:
    """The best dev score so far by training step, the mean over the seeds of a row."""

    row: Row
    seeds: list[tuple[list[int], list[float]]]  # steps, rising, and scores of each

    @property
    def steps(self) -> list[int]:
        """Where every seed has a score and one of them is scored."""
        first = max(steps[0] for steps, _ in self.seeds)
        return sorted({step for steps, _ in self.seeds for step in steps if step >= first})

    def at(self, step: int) -> float:
        """After this many steps, at least the first of `steps`; a seed that has ended keeps its score."""
        return fmean(scores[bisect_right(steps, step) - 1] for steps, scores in self.seeds)

    def reaches(self, score: float) -> int | None:
        """The first of `steps` with this score."""
        return next((step for step in self.steps if self.at(step) >= score), None)


Curves = tuple[Group, dict[str, Curve]]  # by encoder, the baseline among them


def speed(
    experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains
) -> tuple[list[Table], list[Drawing]]:
    """A table of gains at equal steps, a figure of them, and one of the dev scores of each task."""
    every = [(group, curves(experiment, group)) for group in groups if not group.basis.fraction]
    every = [(group, own) for group, own in every if BASELINE in own and len(own) > 1]
    if not every:
        return [], []
    drawn = [_scores(experiment, group, own) for group, own in every]
    return [_speed(experiment, suite, every)], [*drawn, _gains(experiment, suite, every)]


def curves(experiment: Experiment, group: Group) -> dict[str, Curve]:
    """By encoder, in the experiment's order."""
    order = [variant.key for variant in experiment.variants]
    rows = {row.encoder: row for row in group.rows if experiment.variant_of(row.spec)}
    names = sorted(rows, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {name: curve_of(rows[name]) for name in names}


def curve_of(row: Row) -> Curve:
    kept = [record["curves"] for record in row.records]
    return Curve(row, [(list(accumulate(each["steps"])), list(accumulate(each["dev"], max))) for each in kept])


def _speed(experiment: Experiment, suite: str, every: Sequence[Curves]) -> Table:
    """A row for each task and encoder: the gain after 1, 2, 4, … epochs and at the end, and when it is level."""
    longest = max(len(steps) for _, own in every for steps, _ in own[BASELINE].seeds)
    epochs = [2**k for k in range(longest.bit_length()) if 2**k <= longest]
    lines, tasks = list[Line](), list[str]()
    for group, own in every:
        baseline = own[BASELINE]
        steps = max((steps for steps, _ in baseline.seeds), key=len)
        best = baseline.at(steps[-1])
        for name, curve in own.items():
            if name == BASELINE:
                continue
            run, start = curve.row.anchor, max(curve.steps[0], baseline.steps[0])
            known = [epoch for epoch in epochs if epoch <= len(steps) and steps[epoch - 1] >= start]
            gains = {epoch: curve.at(steps[epoch - 1]) - baseline.at(steps[epoch - 1]) for epoch in known}
            end, level = max(curve.steps[-1], steps[-1]), curve.reaches(best)
            last = number(curve.at(end) - best, "+.2f", run=run)
            tasks.append(group.task)
            lines.append(
                {
                    "task": words(group.heading),
                    "encoder": words(name, run=run),
                    **{f"epoch {epoch}": number(gains.get(epoch), "+.2f", run=run) for epoch in epochs},
                    "end": marked(last, curve.row.mark or baseline.row.mark),
                    "steps an epoch": number(steps[0], ",", run=run),
                    f"steps of {BASELINE} to its best": number(baseline.reaches(best), ",", run=baseline.row.anchor),
                    "steps to the same score": number(level, ",", run=run) if level else Cell("never", {"": None}, run),
                }
            )
    title = f"{experiment.caption}: gains over {BASELINE} on dev at equal steps, suite {suite}"
    return make_table(f"{suite}-{experiment.name}", title, lines, tasks=tasks, notes=[SOON])


def _scores(experiment: Experiment, group: Group, own: dict[str, Curve]) -> Drawing:
    """The dev scores of a task: a line an encoder."""
    said = "; ".join(
        f"{name}: {curve.at(curve.steps[0]):.2f} after {curve.steps[0]:,} steps, "
        f"{curve.at(curve.steps[-1]):.2f} after {curve.steps[-1]:,}"
        for name, curve in own.items()
    )
    stem, title = f"{group.stem}-{experiment.name}", f"{experiment.caption}: {group.heading}, suite {group.suite}"
    alt, labels = f"Best dev {group.metric} so far by training step. {said}.", f"best dev {group.metric} so far"
    traces = {name: Trace(curve.steps, [curve.at(step) for step in curve.steps]) for name, curve in own.items()}
    heading, axes = group.label("\n"), ("training steps", labels)
    return chart(stem, title, alt, traces, heading=heading, labels=axes, steps=True, task=group.task)


def _gains(experiment: Experiment, suite: str, every: Sequence[Curves]) -> Drawing:
    """The gain of the experiment's encoder (or of the last one) over the baseline by step: a line a task."""
    traces = dict[str, Trace]()
    for group, own in every:
        others = [name for name in own if name != BASELINE]
        name = experiment.encoder if experiment.encoder in others else others[-1]
        ours, theirs = own[name], own[BASELINE]
        start = max(ours.steps[0], theirs.steps[0])
        steps = sorted({step for step in [*ours.steps, *theirs.steps] if step >= start})
        called = group.label() + ("" if name == experiment.encoder else f", {name}")
        traces[called] = Trace(steps, [ours.at(step) - theirs.at(step) for step in steps])
    said = "; ".join(
        f"{name}: {gains[0]:+.2f} after {steps[0]:,} steps, {gains[-1]:+.2f} after {steps[-1]:,}"
        for name, (steps, gains, *_) in traces.items()
    )
    title = f"Gains over {BASELINE} on dev at equal steps, suite {suite}"
    labels = "training steps", f"points of {experiment.encoder} over {BASELINE} on dev"
    return chart(f"{suite}-{experiment.name}", title, f"{title}. {said}.", traces, labels=labels, steps=True)


def tuning(
    experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains
) -> tuple[list[Table], list[Drawing]]:
    """One table, a row a task and encoder; none without a task that has the baseline at two rates or more."""
    own = [(group, tuned(experiment, group)) for group in groups if not group.basis.fraction]
    own = [(group, rows) for group, rows in own if len(rows.get(BASELINE, {})) > 1]
    factors = sorted({factor for _, tuned in own for rows in tuned.values() for factor in rows})
    lines = [_tuned(group, name, rows, factors) for group, rows in own for name in rows]
    title, tasks = (
        f"{experiment.caption}: learning rates, suite {suite}",
        [group.task for group, rows in own for _ in rows],
    )
    stem = f"{suite}-{experiment.name}"
    return ([make_table(stem, title, lines, tasks=tasks, notes=[RATES])] if lines else []), []


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
        difference = ours.summary("dev").mean - theirs.summary("dev").mean
        return marked(number(difference, "+.2f", run=ours.anchor), ours.mark or theirs.mark)

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
