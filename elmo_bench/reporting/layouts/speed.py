"""How soon the encoders learn: dev scores by training step, and gains at equal steps, from the curves of records."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from matplotlib.axes import Axes

from elmo_bench.ledger import Record
from elmo_bench.reporting.canvas import FAINT, Drawing, inches, label, look, small
from elmo_bench.reporting.gains import Gains
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import Cell, Column, Line, Table, make_table, number, words
from elmo_bench.spec.experiments import Experiment

NOTE = (
    f"Gains are of dev scores over {BASELINE}, without verdicts: the question is how soon, and table 1 asks how much."
)


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


Found = tuple[Group, dict[str, Curve]]  # by encoder, the baseline among them


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table of gains at equal steps, a figure of them, and one of the dev scores of each task."""
    found = [(group, curves(experiment, group)) for group in groups if not group.basis.fraction]
    found = [(group, own) for group, own in found if BASELINE in own and len(own) > 1]
    if not found:
        return [], []
    drawn = [_scores(experiment, group, own) for group, own in found]
    return [table(experiment, suite, found)], [*drawn, _gains(experiment, suite, found)]


def curves(experiment: Experiment, group: Group) -> dict[str, Curve]:
    """By encoder, in the experiment's order."""
    order = [variant.key for variant in experiment.variants]
    rows = {row.encoder: row for row in group.rows if experiment.variant_of(row.spec)}
    names = sorted(rows, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {name: Curve(rows[name], [_of(record) for record in rows[name].records]) for name in names}


def _of(record: Record) -> tuple[list[int], list[float]]:
    kept = record["curves"]
    return list(accumulate(kept["steps"])), list(accumulate(kept["dev"], max))


def table(experiment: Experiment, suite: str, found: Sequence[Found]) -> Table:
    """A row for each task and encoder: the gain after 1, 2, 4, … epochs and at the end, and when it is level."""
    longest = max(len(steps) for _, own in found for steps, _ in own[BASELINE].seeds)
    epochs = [2**k for k in range(longest.bit_length()) if 2**k <= longest]
    lines: list[Line] = []
    for group, own in found:
        baseline = own[BASELINE]
        steps = max((steps for steps, _ in baseline.seeds), key=len)
        best = baseline.at(steps[-1])
        for name, curve in own.items():
            if name == BASELINE:
                continue
            run, start = curve.row.anchor, max(curve.steps[0], baseline.steps[0])
            gains = {e: curve.at(steps[e - 1]) - baseline.at(steps[e - 1]) for e in epochs if _fits(steps, e, start)}
            end = max(curve.steps[-1], steps[-1])
            level, its = curve.reaches(best), baseline.reaches(best)
            mark = curve.row.mark or baseline.row.mark
            lines.append(
                {
                    Column("task", words=True): words(group.heading),
                    Column("encoder", words=True): words(name, run=run),
                    **{Column(f"epoch {e}"): number(gains.get(e), "+.2f", run=run) for e in epochs},
                    Column("end"): number(curve.at(end) - best, "+.2f", run=run, suffix=f" {mark}".rstrip()),
                    Column("steps an epoch"): number(steps[0], ",", run=run),
                    Column(f"steps of {BASELINE} to its best"): number(its, ",", run=baseline.row.anchor),
                    Column("steps to the same score"): number(level, ",", run=run)
                    if level
                    else Cell("never", (None,), run),
                }
            )
    title = f"{experiment.caption}: gains over {BASELINE} on dev at equal steps, suite {suite}"
    tasks = [group.task for group, own in found for name in own if name != BASELINE]
    return make_table(f"{suite}-{experiment.name}", title, lines, tasks=tasks, notes=[NOTE])


def _fits(steps: Sequence[int], epoch: int, start: int) -> bool:
    return epoch <= len(steps) and steps[epoch - 1] >= start


def _scores(experiment: Experiment, group: Group, own: dict[str, Curve]) -> Drawing:
    """The dev scores of a task: a line an encoder, and a thin one a seed."""
    looks, title = look(list(own)), label(group)

    def paint(axes: Axes) -> None:
        for name, curve in own.items():
            colour = looks[name][0]
            for steps, scores in curve.seeds if len(curve.seeds) > 1 else ():
                axes.step(steps, scores, where="post", color=colour, linewidth=0.7, alpha=0.45)
            axes.step(curve.steps, [curve.at(step) for step in curve.steps], where="post", color=colour, label=name)
        axes.set_xscale("log")
        axes.set(title=title, xlabel="training steps", ylabel=f"best dev {group.metric} so far")
        axes.legend(loc="lower right")

    said = "; ".join(
        f"{name}: {curve.at(curve.steps[0]):.2f} after {curve.steps[0]:,} steps, "
        f"{curve.at(curve.steps[-1]):.2f} after {curve.steps[-1]:,}"
        for name, curve in own.items()
    )
    heading = f"{experiment.caption}: {group.heading}, suite {group.suite}"
    alt = f"Best dev {group.metric} so far by training step. {said}."
    return Drawing(f"{group.stem}-{experiment.name}", heading, alt, paint, size=small(title), task=group.task)


def _gains(experiment: Experiment, suite: str, found: Sequence[Found]) -> Drawing:
    """The gain of the experiment's encoder (or of the last one) over the baseline by step: a line a task."""
    lines: list[tuple[str, list[int], list[float]]] = []
    for group, own in found:
        others = [name for name in own if name != BASELINE]
        name = experiment.encoder if experiment.encoder in others else others[-1]
        ours, theirs = own[name], own[BASELINE]
        start = max(ours.steps[0], theirs.steps[0])
        steps = sorted({step for step in [*ours.steps, *theirs.steps] if step >= start})
        called = label(group, ", ") + ("" if name == experiment.encoder else f", {name}")
        lines.append((called, steps, [ours.at(step) - theirs.at(step) for step in steps]))
    looks = look([name for name, _, _ in lines])

    def paint(axes: Axes) -> None:
        axes.axhline(0, color=FAINT, linewidth=1)
        for name, steps, gains in lines:
            colour, marker = looks[name]
            axes.step(steps, gains, where="post", color=colour)
            axes.plot(steps[-1], gains[-1], color=colour, marker=marker, label=name)
        axes.set_xscale("log")
        axes.set(xlabel="training steps", ylabel=f"points of {experiment.encoder} over {BASELINE} on dev")
        axes.figure.legend(loc="outside upper left", ncols=2)

    said = "; ".join(
        f"{name}: {gains[0]:+.2f} after {steps[0]:,} steps, {gains[-1]:+.2f} after {steps[-1]:,}"
        for name, steps, gains in lines
    )
    title = f"Gains over {BASELINE} on dev at equal steps, suite {suite}"
    size = (max(4.7, 1.2 + 2 * inches(*looks)), 3.3 + 0.17 * (len(lines) + 1) / 2)
    return Drawing(f"{suite}-{experiment.name}", title, f"{title}. {said}.", paint, size=size)
