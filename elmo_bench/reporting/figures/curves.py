"""Lines over less data and over an option, and how much data an encoder saves."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import offset_copy

from elmo_bench.reporting.figures.canvas import FAINT, Drawing, draw, inches, label, look
from elmo_bench.reporting.groups import Group, percent
from elmo_bench.reporting.layouts.fractions import Family, Point, needed
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.spec.experiments import Experiment, Variant


def learning_curves(experiment: Experiment, family: Family) -> Drawing:
    """Test score over the share of the training data, a line an encoder."""
    group, curves = family.group, family.curves
    looks, title = look(list(curves)), label(group, fraction=False)

    def paint(axes: Axes) -> None:
        for name, points in curves.items():
            _line(axes, [p.share for p in points], [p.row for p in points], looks[name], name)
        _shares(axes)
        axes.set(title=title, ylabel=f"test {group.metric}")
        axes.legend(loc="lower right")

    said = "; ".join(
        f"{name}: " + ", ".join(f"{p.score:.2f} with {percent(p.share)}" for p in points)
        for name, points in curves.items()
    )
    alt = f"Test {group.metric} by share of the training data. {said}."
    heading = f"{experiment.caption}: {group.heading(fraction=False)}, suite {group.suite}"
    stem = f"{group.stem(fraction=False)}-{experiment.name}"
    return draw(stem, heading, alt, paint, size=_small(title), task=group.task)


def efficiency(suite: str, families: Sequence[Family]) -> Drawing | None:
    """How much data the baseline needs for the score of another encoder; None without a curve of both."""
    lines: list[tuple[str, list[Point], list[Point]]] = []
    for family in families:
        for encoder, points in family.curves.items():
            if encoder != BASELINE and BASELINE in family.curves:
                name = f"{label(family.group, ', ', fraction=False)}, {encoder}"
                lines.append((name, points, family.curves[BASELINE]))
    if not lines:
        return None
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
    return draw(f"{suite}-efficiency", f"Sample efficiency, suite {suite}", alt, paint, size=size)


def line_figure(experiment: Experiment, group: Group, rows: Sequence[tuple[Variant, Row]]) -> Drawing:
    """Scores over the values of an option, for runs that differ in it alone."""
    by_encoder: dict[str, list[tuple[float, Row]]] = {}
    for variant, row in rows:
        by_encoder.setdefault(row.encoder, []).append((experiment.rank(variant), row))
    looks, name, title = look(list(by_encoder)), experiment.heading, label(group)
    values = [value for points in by_encoder.values() for value, _ in points]

    def paint(axes: Axes) -> None:
        for encoder, points in by_encoder.items():
            xs, line = zip(*sorted(points, key=lambda point: point[0]), strict=True)
            _line(axes, xs, line, looks[encoder], f"{encoder}, test")
            dev = [row.summary("dev").mean for row in line]
            style: dict[str, Any] = {"color": looks[encoder][0], "linewidth": 1, "linestyle": (0, (3, 2))}
            axes.plot(xs, dev, label=f"{encoder}, dev", **style)
        if 0 in values:
            axes.set_xscale("symlog", linthresh=min((value for value in values if value > 0), default=1.0))
        else:
            axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(title=title, xlabel=name, ylabel=group.metric)
        axes.figure.legend(loc="outside lower left", ncols=2)

    said = "; ".join(f"{row.encoder} {name} = {v.key}: {row.summary('test').mean:.2f}" for v, row in rows)
    alt = f"Test {group.metric} by {name}. {said}."
    heading = f"{name}: {group.heading()}, suite {group.suite}"
    return draw(f"{group.stem()}-{experiment.name}", heading, alt, paint, size=_small(title), task=group.task)


def _small(title: str) -> tuple[float, float]:
    """Inches: small enough for several in a row and for a phone; larger for a long title."""
    return max(3.7, 0.7 + 1.25 * inches(title)), 2.7 + 0.17 * title.count("\n")


def _line(axes: Axes, xs: Sequence[float], rows: Sequence[Row], style: tuple[str, str], label: str) -> None:
    """Means with one standard deviation to either side."""
    found = [row.summary("test") for row in rows]
    axes.errorbar(
        xs, [s.mean for s in found], yerr=[s.sd or 0.0 for s in found], color=style[0], marker=style[1], capsize=2.5,
        elinewidth=1.1, label=label,
    )  # fmt: skip


def _shares(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlabel("share of the training data")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))
    axes.xaxis.set_minor_locator(NullLocator())
