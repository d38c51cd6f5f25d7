"""Less training data: the same encoders on fractions of it, and how much data an encoder saves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

from elmo_bench.reporting.canvas import Drawing, Trace, chart
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


@dataclass(frozen=True)
class Point:
    """A run on a share of the training split."""

    share: float  # above 0, up to 1
    row: Row

    @property
    def score(self) -> float:
        return self.row.summary("test").mean


@dataclass(frozen=True)
class Need:
    """The share of the data with which the baseline scores as high; a bound if its runs do not reach that score."""

    share: float
    bound: str = ""  # "<" or ">"

    def __str__(self) -> str:
        return f"{self.bound} {percent(self.share)}".strip()


@dataclass(frozen=True)
class Family:
    """Groups that differ in the amount of training data alone, and their curves."""

    group: Group  # one of them, called as for any amount of data
    curves: dict[str, list[Point]]  # by encoder: two or more shares, the smallest first

    @property
    def points(self) -> list[Point]:
        points = [point for curve in self.curves.values() for point in curve]
        return sorted(points, key=lambda point: (point.share, point.row.label))


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> tuple[list[Table], list[Drawing]]:
    """A table and learning curves for each family, and one figure of how much data the encoders save.

    The tests of all tables are one family of tests.
    """
    own = families(experiment, groups)
    gains = family_of([pair for one in own for pair in over_baseline([point.row for point in one.points])], gain)
    return [_table(experiment, one, gains) for one in own], [
        *(_curves(experiment, o) for o in own),
        *_saved(suite, own),
    ]


def families(experiment: Experiment, groups: Sequence[Group]) -> list[Family]:
    """The families with at least one curve."""
    members: dict[object, list[Group]] = {}
    for group in groups:
        members.setdefault(replace(group.basis, fraction=()), []).append(group)
    families = []
    for same in members.values():
        curves: dict[str, list[Point]] = {}
        for row, share in ((row, group.share(row)) for group in same for row in group.rows):
            if experiment.variant_of(row.spec) and share is not None:
                curves.setdefault(row.encoder, []).append(Point(share, row))
        several = {name: curves[name] for name in sorted(curves) if len({point.share for point in curves[name]}) > 1}
        if several:
            ordered = {name: sorted(curve, key=lambda point: point.share) for name, curve in several.items()}
            families.append(Family(same[0].any_amount, ordered))
    return families


def needed(score: float, baseline: Sequence[Point]) -> Need:
    """Where the baseline's curve reaches a score; between two runs it is straight over the logarithm of the share."""
    before = None
    for point in baseline:
        if point.score >= score:
            if before is None:
                return Need(point.share, "" if point.score == score else "<")
            along = (score - before.score) / (point.score - before.score)
            return Need(exp(log(before.share) + along * (log(point.share) - log(before.share))))
        before = point
    return Need(baseline[-1].share, ">")


def _title(experiment: Experiment, group: Group) -> str:
    return f"{experiment.caption}: {group.heading}, suite {group.suite}"


def _table(experiment: Experiment, family: Family, gains: dict[str, Gain]) -> Table:
    group, lines = family.group, list[Line]()
    for point in family.points:
        row, run, own = point.row, point.row.anchor, gains.get(point.row.anchor)
        need = needed(point.score, family.curves[BASELINE]) if own and BASELINE in family.curves else None
        lines.append(
            {
                "share": Cell(percent(point.share), {"": point.share}, run),
                "examples": number(row.train, ",", run=run),
                "encoder": words(row.encoder, run=run),
                f"test {group.metric}": score(row, "test"),
                "seeds": seeds(row),
                **gain_cells(own),
                f"{BASELINE} needs": Cell(str(need), {"share": need.share, "bound": need.bound}, run)
                if need
                else Cell(),
            }
        )
    mine, tasks = [gains.get(point.row.anchor) for point in family.points], [group.task] * len(lines)
    stem, notes = f"{group.stem}-{experiment.name}", [EXPLORATORY, PAIRED]
    return make_table(stem, _title(experiment, group), lines, tasks=tasks, gains=mine, notes=notes)


def _curves(experiment: Experiment, family: Family) -> Drawing:
    """Test score over the share of the training data, a line an encoder."""
    group = family.group
    said = "; ".join(
        f"{name}: " + ", ".join(f"{p.score:.2f} with {percent(p.share)}" for p in points)
        for name, points in family.curves.items()
    )
    traces = {
        name: Trace(
            [p.share for p in points], [p.score for p in points], [p.row.summary("test").sd or 0 for p in points]
        )
        for name, points in family.curves.items()
    }
    alt, labels = f"Test {group.metric} by {SHARE}. {said}.", (SHARE, f"test {group.metric}")
    stem, heading = f"{group.stem}-{experiment.name}", group.label("\n")
    title = _title(experiment, group)
    return chart(stem, title, alt, traces, heading=heading, labels=labels, shares="x", task=group.task)


def _saved(suite: str, families: Sequence[Family]) -> list[Drawing]:
    """How much data the baseline needs for the score of another encoder; none without a curve of both."""
    needs = {
        f"{family.group.label()}, {encoder}": [(p.share, needed(p.score, family.curves[BASELINE])) for p in points]
        for family in families
        for encoder, points in family.curves.items()
        if encoder != BASELINE and BASELINE in family.curves
    }
    if not needs:
        return []
    said = "; ".join(f"{name} with {percent(share)}: {need}" for name, own in needs.items() for share, need in own)
    alt = f"Share of the training data with which {BASELINE} scores as high. {said}. "
    alt += f"Hollow: more, or less, than {BASELINE}'s runs show."
    traces = {
        name: Trace([share for share, _ in own], [n.share for _, n in own], hollow=[bool(n.bound) for _, n in own])
        for name, own in needs.items()
    }
    labels = SHARE, f"share that {BASELINE} needs\nhollow: beyond its runs"
    return [chart(f"{suite}-efficiency", f"Sample efficiency, suite {suite}", alt, traces, labels=labels, shares="xy")]
