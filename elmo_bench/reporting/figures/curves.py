"""Lines over less data and over λ, and how much data an encoder saves."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import offset_copy

from elmo_bench.reporting.figures.canvas import FAINT, Figure, draw, inches, label, look
from elmo_bench.reporting.fractions import Point, curves, needed, percent
from elmo_bench.reporting.like import Group
from elmo_bench.reporting.scores import heading
from elmo_bench.reporting.select import BASELINE, Row


def learning_curves(groups: Sequence[Group]) -> list[Figure]:
    """A figure a task: test score over the share of the training data, a line an encoder."""
    return [_learning(group, by_encoder) for group in groups if (by_encoder := curves(group))]


def _learning(group: Group, by_encoder: dict[str, list[Point]]) -> Figure:
    looks = look(list(by_encoder))
    metric = group.rows[0].newest["metric"]

    def paint(axes: Axes) -> None:
        for name, points in by_encoder.items():
            _line(axes, [p.share for p in points], [p.row for p in points], looks[name], name)
        _shares(axes)
        axes.set(title=label(group), ylabel=f"test {metric}")
        axes.legend(loc="lower right")

    said = "; ".join(
        f"{name}: " + ", ".join(f"{p.score:.2f} with {percent(p.share)}" for p in points)
        for name, points in by_encoder.items()
    )
    title = f"Less training data: {heading(group)}, suite {group.suite}"
    alt = f"Test {metric} by share of the training data. {said}."
    return draw(f"{group.stem}-figure1", title, alt, paint, size=_small(group), task=group.task)


def efficiency_figure(suite: str, groups: Sequence[Group]) -> Figure | None:
    """How much data the baseline needs for the score of another encoder; None where nobody can say."""
    lines: list[tuple[str, list[Point], list[Point]]] = []
    for group in groups:
        found = curves(group)
        for encoder, points in found.items():
            if encoder != BASELINE and BASELINE in found:
                lines.append((f"{label(group, ', ')}, {encoder}", points, found[BASELINE]))
    if not lines:
        return None
    looks = look([name for name, _, _ in lines])
    long = inches(*looks)
    beside = 2 if long < 2.1 else 1  # columns of the legend

    def paint(axes: Axes) -> None:
        low = min(point.share for _, points, _ in lines for point in points)
        axes.plot((low, 1), (low, 1), color=FAINT, linewidth=1, linestyle=(0, (4, 3)), label="as much")
        for rank, (name, points, baseline) in enumerate(lines):
            needs = [needed(point.score, baseline) for point in points]
            colour, marker = looks[name]
            inside = [(p.share, n.share) for p, n in zip(points, needs, strict=True) if not n.bound]
            axes.plot(*zip(*inside, strict=True) if inside else ((), ()), color=colour, marker=marker, label=name)
            aside = 8 * (rank - (len(lines) - 1) / 2)  # points of the page: bounds of several tasks are at one place
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
        axes.set(xlabel="share of the training data that it has", ylabel=f"share that {BASELINE} needs")
        axes.figure.legend(loc="outside upper left", ncols=beside)

    said = "; ".join(
        f"{name} with {percent(point.share)}: {needed(point.score, baseline)}"
        for name, points, baseline in lines
        for point in points
    )
    alt = f"Share of the training data with which {BASELINE} scores as high. {said}. "
    alt += "With an arrow: more, or less, than its runs show."
    size = (max(4.7, 0.6 + long), 3.3 + 0.17 * (len(lines) + 2) / beside)
    return draw(f"{suite}-efficiency", f"Sample efficiency, suite {suite}", alt, paint, size=size)


def penalty_figure(group: Group, rows: Sequence[tuple[str, Row]]) -> Figure:
    """Scores over λ for runs that differ in it alone; `rows` are (λ as text, row), as the table has them."""
    by_encoder: dict[str, list[tuple[float, Row]]] = {}
    for value, row in rows:
        by_encoder.setdefault(row.encoder, []).append((float(value), row))
    looks, metric = look(list(by_encoder)), rows[0][1].newest["metric"]
    smallest = min((value for points in by_encoder.values() for value, _ in points if value > 0), default=1.0)

    def paint(axes: Axes) -> None:
        for name, points in by_encoder.items():
            xs, line = zip(*sorted(points, key=lambda point: point[0]), strict=True)
            _line(axes, xs, line, looks[name], f"{name}, test")
            dev = [row.summary("dev").mean for row in line]
            axes.plot(
                xs,
                dev,
                color=looks[name][0],
                linewidth=1,
                linestyle=(0, (3, 2)),
                label=f"{name}, dev",
            )
        if any(value == 0 for points in by_encoder.values() for value, _ in points):
            axes.set_xscale("symlog", linthresh=smallest)
        else:
            axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set(title=label(group), xlabel="λ", ylabel=metric)
        axes.figure.legend(loc="outside lower left", ncols=2)

    said = "; ".join(f"{row.encoder} λ = {value}: {row.summary('test').mean:.2f}" for value, row in rows)
    title = f"λ: {heading(group)}, suite {group.suite}"
    alt = f"Test {metric} by λ. {said}."
    return draw(f"{group.stem}-regularisation", title, alt, paint, size=_small(group), task=group.task)


def _small(group: Group) -> tuple[float, float]:
    """Inches: one of several side by side, and readable on a phone; wider and higher where its title is."""
    title = label(group)
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
