"""Less training data: the same encoders on fractions of it, and how much data an encoder saves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

from elmo_bench.reporting.gains import Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import (
    SCORE,
    Cell,
    Column,
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

    group: Group  # one of them, for names
    curves: dict[str, list[Point]]  # by encoder: two or more shares, the smallest first

    @property
    def points(self) -> list[Point]:
        points = [point for curve in self.curves.values() for point in curve]
        return sorted(points, key=lambda point: (point.share, point.row.label))


def families(experiment: Experiment, groups: Sequence[Group]) -> list[Family]:
    """The families with at least one curve."""
    members: dict[object, list[Group]] = {}
    for group in groups:
        members.setdefault(replace(group.basis, fraction=()), []).append(group)
    found = []
    for same in members.values():
        points = [
            Point(share, row)
            for group in same
            for row in group.rows
            if experiment.variant_of(row.spec) and (share := group.share(row)) is not None
        ]
        points.sort(key=lambda point: (point.row.encoder, point.share))
        curves: dict[str, list[Point]] = {}
        for point in points:
            curves.setdefault(point.row.encoder, []).append(point)
        curves = {name: curve for name, curve in curves.items() if len({point.share for point in curve}) > 1}
        if curves:
            found.append(Family(same[0], curves))
    return found


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


def tables(experiment: Experiment, families: Sequence[Family], gain: Gains) -> list[Table]:
    """A table for each family; the tests of all of them are one family of tests."""
    gains = family_of([pair for one in families for pair in over_baseline([point.row for point in one.points])], gain)
    made = []
    for family in families:
        group, points, lines = family.group, family.points, list[Line]()
        for point in points:
            row, run, own = point.row, point.row.anchor, gains.get(point.row.anchor)
            need = needed(point.score, family.curves[BASELINE]) if own and BASELINE in family.curves else None
            lines.append(
                {
                    Column("share"): Cell(percent(point.share), (point.share,), run),
                    Column("examples"): number(row.train, ",", run=run),
                    Column("encoder", words=True): words(row.encoder, run=run),
                    Column(f"test {group.metric}", SCORE): score(row.summary("test"), run=run),
                    Column("seeds"): seeds(row.seeds, run),
                    **gain_cells(own),
                    Column(f"{BASELINE} needs", ("share", "bound")): (
                        Cell(str(need), (need.share, need.bound), run) if need else Cell("")
                    ),
                }
            )
        title = f"{experiment.caption}: {group.heading(fraction=False)}, suite {group.suite}"
        stem, mine = f"{group.stem(fraction=False)}-{experiment.name}", [gains.get(p.row.anchor) for p in points]
        made.append(make_table(stem, title, lines, tasks=[group.task] * len(lines), gains=mine))
    return made
