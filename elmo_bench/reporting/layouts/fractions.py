"""Less training data: the same encoders on fractions of it, and how much data an encoder saves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import offset_copy

from elmo_bench.reporting.canvas import FAINT, Drawing, inches, label, line, look, small
from elmo_bench.reporting.gains import Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import (
    EXPLORATORY,
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

PAIRED = (
    "Tests on a fraction are paired by seed and by item: seed k of both encoders has the subset that seed k draws, and "
    "only seeds that both have count. On all of the data seeds are not paired."
)


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


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table and learning curves for each family, and one figure of how much data the encoders save."""
    found = families(experiment, groups)
    return tables(experiment, found, gain), [
        *(curves(experiment, family) for family in found),
        *efficiency(suite, found),
    ]


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
            found.append(Family(same[0].any_amount, curves))
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
    found = []
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
                    Column(f"test {group.metric}", SCORE): score(row, "test"),
                    Column("seeds"): seeds(row.seeds, run),
                    **gain_cells(own),
                    Column(f"{BASELINE} needs", ("share", "bound")): (
                        Cell(str(need), (need.share, need.bound), run) if need else Cell("")
                    ),
                }
            )
        title = f"{experiment.caption}: {group.heading}, suite {group.suite}"
        stem, mine = f"{group.stem}-{experiment.name}", [gains.get(p.row.anchor) for p in points]
        found.append(
            make_table(stem, title, lines, tasks=[group.task] * len(lines), gains=mine, notes=[EXPLORATORY, PAIRED])
        )
    return found


def curves(experiment: Experiment, family: Family) -> Drawing:
    """Test score over the share of the training data, a line an encoder."""
    group, found = family.group, family.curves
    looks, title = look(list(found)), label(group)

    def paint(axes: Axes) -> None:
        for name, points in found.items():
            line(axes, [p.share for p in points], [p.row for p in points], looks[name], name)
        _shares(axes)
        axes.set(title=title, ylabel=f"test {group.metric}")
        axes.legend(loc="lower right")

    said = "; ".join(
        f"{name}: " + ", ".join(f"{p.score:.2f} with {percent(p.share)}" for p in points)
        for name, points in found.items()
    )
    alt = f"Test {group.metric} by share of the training data. {said}."
    heading = f"{experiment.caption}: {group.heading}, suite {group.suite}"
    stem = f"{group.stem}-{experiment.name}"
    return Drawing(stem, heading, alt, paint, size=small(title), task=group.task)


def efficiency(suite: str, families: Sequence[Family]) -> list[Drawing]:
    """How much data the baseline needs for the score of another encoder; none without a curve of both."""
    lines: list[tuple[str, list[Point], list[Point]]] = []
    for family in families:
        for encoder, points in family.curves.items():
            if encoder != BASELINE and BASELINE in family.curves:
                name = f"{label(family.group, ', ')}, {encoder}"
                lines.append((name, points, family.curves[BASELINE]))
    if not lines:
        return []
    looks = look([name for name, _, _ in lines])
    long = inches(*looks)
    columns = 2 if long < 2.1 else 1  # of the legend

    def paint(axes: Axes) -> None:
        low = min(point.share for _, points, _ in lines for point in points)
        axes.plot((low, 1), (low, 1), color=FAINT, linewidth=1, linestyle=(0, (4, 3)), label="as much")
        for rank, (name, points, baseline) in enumerate(lines):
            needs = [needed(point.score, baseline) for point in points]
            colour, marker = looks[name]
            inside = [(p.share, n.share) for p, n in zip(points, needs, strict=True) if not n.bound]
            axes.plot(*zip(*inside, strict=True) if inside else ((), ()), color=colour, marker=marker, label=name)
            aside = 8 * (rank - (len(lines) - 1) / 2)  # in points: bounds of several tasks coincide
            for point, need in zip(points, needs, strict=True):
                if need.bound:
                    arrow, up = (r"$\uparrow$", 9) if need.bound == ">" else (r"$\downarrow$", -9)
                    for sign, y, face in ((marker, 0, "none"), (arrow, up, colour)):
                        there = offset_copy(axes.transData, axes.get_figure(root=True), x=aside, y=y, units="points")
                        axes.plot(point.share, need.share, color=colour, marker=sign, mfc=face, transform=there)
        axes.plot((), (), color=FAINT, marker=r"$\uparrow$", linestyle="", label=f"arrow: beyond {BASELINE}'s runs")
        axes.margins(0.1)
        _shares(axes)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set(xlabel="share of the training data", ylabel=f"share that {BASELINE} needs")
        axes.figure.legend(loc="outside upper left", ncols=columns)

    said = "; ".join(
        f"{name} with {percent(point.share)}: {needed(point.score, baseline)}"
        for name, points, baseline in lines
        for point in points
    )
    alt = f"Share of the training data with which {BASELINE} scores as high. {said}. "
    alt += "With an arrow: more, or less, than its runs show."
    size = (max(4.7, 0.6 + long), 3.3 + 0.17 * (len(lines) + 2) / columns)
    return [Drawing(f"{suite}-efficiency", f"Sample efficiency, suite {suite}", alt, paint, size=size)]


def _shares(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("share of the training data")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))
    axes.xaxis.set_minor_locator(NullLocator())
