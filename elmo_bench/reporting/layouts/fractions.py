"""Less training data: the same encoders on fractions of it, and how much data an encoder saves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

from elmo_bench.reporting.gains import Gains, holm_over
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.rows import BASELINE, Row, baseline_of
from elmo_bench.reporting.table import (
    SCORE,
    Cell,
    Column,
    Table,
    gain_cells,
    gain_columns,
    number,
    score,
    seeds,
    untested,
    without_empty,
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
    pairs = [
        (point.row, baseline)
        for family in families
        for point in family.points
        if (baseline := baseline_of(point.row, [other.row for other in family.points]))
    ]
    tested = holm_over([found for pair in pairs if (found := gain(*pair))])
    gains = {found.ours.anchor: found for found in tested}
    made = []
    for family in families:
        group, body = family.group, []
        columns = [Column("share"), Column("examples"), Column("encoder", words=True)]
        columns += [Column(f"test {group.metric}", SCORE), Column("seeds"), *gain_columns()]
        columns += [Column(f"{BASELINE} needs", ("share", "bound"))]
        for point in family.points:
            row, own = point.row, gains.get(point.row.anchor)
            need = needed(point.score, family.curves[BASELINE]) if own and BASELINE in family.curves else None
            body.append([
                Cell(percent(point.share), (point.share,), row.anchor),
                number(row.train, ",", run=row.anchor),
                words(row.encoder, run=row.anchor),
                score(row.summary("test"), run=row.anchor),
                seeds(row.seeds, row.anchor),
                *gain_cells(own),
                Cell(str(need), (need.share, need.bound), row.anchor) if need else Cell(""),
            ])  # fmt: skip
        title = f"{experiment.caption}: {group.heading(fraction=False)}, suite {group.suite}"
        notes = untested(gains[point.row.anchor] for point in family.points if point.row.anchor in gains)
        stem = f"{group.stem(fraction=False)}-{experiment.name}"
        made.append(Table(stem, title, *without_empty(columns, body), [group.task] * len(body), notes=notes))
    return made
