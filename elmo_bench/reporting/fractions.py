"""Less training data: the same encoders on parts of it, and how much data an encoder saves."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from elmo_bench.reporting.differences import PART
from elmo_bench.reporting.gains import Gains, holm_over
from elmo_bench.reporting.like import Group
from elmo_bench.reporting.scores import gain_cells, gain_columns, heading, seeds, untested
from elmo_bench.reporting.select import BASELINE, Row, baseline_of
from elmo_bench.reporting.table import SCORE, Cell, Column, Table, number, score, without_empty, words


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
    """The share of the data with which the baseline scores as high; a bound where its runs do not reach so far."""

    share: float
    bound: str = ""  # "<" or ">"

    def __str__(self) -> str:
        return f"{self.bound} {percent(self.share)}".strip()


def percent(share: float) -> str:
    """Two digits are enough: 0.1 % to 100 %."""
    return f"{100 * share:.3g} %" if share >= 0.1 else f"{100 * share:.2g} %"


def curves(group: Group) -> dict[str, list[Point]]:
    """By encoder, its runs on two or more parts of the data, the smallest first."""
    found: dict[str, list[Point]] = {}
    for row in group.rows:
        share = group.share(row)
        if share is not None and row.variation.keys() <= set(PART):
            found.setdefault(row.encoder, []).append(Point(share, row))
    points = {name: sorted(found[name], key=lambda point: point.share) for name in sorted(found)}
    return {name: curve for name, curve in points.items() if len({point.share for point in curve}) > 1}


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


def fraction_tables(groups: Sequence[Group], gain: Gains) -> list[Table]:
    """A table a task that has such runs; p is adjusted over all of them."""
    with_curves = [(group, by_encoder) for group in groups if (by_encoder := curves(group))]
    pairs = [
        (point.row, baseline)
        for group, by_encoder in with_curves
        for curve in by_encoder.values()
        for point in curve
        if (baseline := baseline_of(point.row, group.rows))
    ]
    tested = [found for ours, theirs in pairs if (found := gain(ours, theirs))]
    gains = {found.ours.anchor: found for found in holm_over(tested)}
    tables = []
    for group, by_encoder in with_curves:
        columns = [Column("share"), Column("examples"), Column("encoder", words=True)]
        columns += [Column(f"test {group.rows[0].newest['metric']}", SCORE), Column("seeds"), *gain_columns()]
        columns += [Column(f"{BASELINE} needs", ("share", "bound"))]
        body = []
        for point in sorted((p for curve in by_encoder.values() for p in curve), key=lambda p: (p.share, p.row.label)):
            row, own = point.row, gains.get(point.row.anchor)
            need = needed(point.score, by_encoder[BASELINE]) if own and BASELINE in by_encoder else None
            body.append([
                Cell(percent(point.share), (point.share,), row.anchor),
                number(row.newest["data"]["counts"]["train"], ",", run=row.anchor),
                words(row.encoder, run=row.anchor),
                score(row.summary("test"), run=row.anchor),
                seeds(row),
                *gain_cells(own),
                Cell(str(need), (need.share, need.bound), row.anchor) if need else Cell(""),
            ])  # fmt: skip
        title = f"Less training data: {heading(group)}, suite {group.suite}"
        mine = [gains[p.row.anchor] for curve in by_encoder.values() for p in curve if p.row.anchor in gains]
        tables.append(
            Table(
                f"{group.stem}-figure1",
                title,
                *without_empty(columns, body),
                [group.task] * len(body),
                notes=untested(mine),
            )
        )
    return tables
