"""Gains over the baseline, task by task, with their intervals over seeds."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elmo_bench.reporting.figures.canvas import FAINT, INK, SURFACE, Drawing, draw, inches, label, look
from elmo_bench.reporting.gains import Gain
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE
from elmo_bench.spec.experiments import Experiment


def gains_figure(experiment: Experiment, suite: str, picked: Sequence[tuple[Group, dict[str, Gain]]]) -> Drawing | None:
    """A line a task, a mark an encoder; None if there is nothing to compare. `picked`: gains by encoder."""
    lines = [(group, own) for group, own in picked if own]
    if not lines:
        return None
    encoders = list(dict.fromkeys(name for _, own in lines for name in own))
    looks, count = look(encoders), len(encoders)
    printed = [experiment.paper.get(group.task) for group, _ in lines]
    labels = [label(group) for group, _ in lines]
    shows_paper = any(paper and paper.gain is not None for paper in printed)
    tied = any(gain.verdict == "tie" for _, own in lines for gain in own.values())

    def paint(axes: Axes) -> None:
        axes.axvline(0, color=FAINT, linewidth=1)
        for at, ((_, own), paper) in enumerate(zip(lines, printed, strict=True)):
            for rank, (name, gain) in enumerate(own.items()):
                colour, marker = looks[name]
                y = at + (rank - (len(own) - 1) / 2) * 0.7 / count
                if bounds := gain.summary.interval:
                    axes.plot(bounds, (y, y), color=colour, linewidth=1.6, solid_capstyle="butt")
                face = SURFACE if gain.verdict in ("tie", "") else colour
                axes.plot(gain.summary.mean, y, marker, color=colour, markerfacecolor=face, markeredgewidth=1.4)
            if paper and paper.gain is not None:
                axes.plot(paper.gain, at, "|", color=INK, markersize=17, markeredgewidth=1.4)
        axes.set_yticks(range(len(lines)), labels)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"points over {BASELINE} on test\nbars: 95 % interval of the mean over seeds")
        keys = [Line2D([], [], color=looks[n][0], marker=looks[n][1], label=n) for n in encoders]
        if tied:
            hollow: dict[str, Any] = {"color": FAINT, "marker": "o", "markerfacecolor": SURFACE, "linestyle": ""}
            keys.append(Line2D([], [], label="hollow: tie", **hollow))
        if shows_paper:
            other = "" if suite == "paper" else ", on its data"
            bar: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 12, "linestyle": "", "mew": 1.4}
            keys.append(Line2D([], [], label=f"the paper's {experiment.encoder}{other}", **bar))
        axes.figure.legend(handles=keys, loc="outside upper left", ncols=2 if len(keys) > 2 else len(keys))

    alt = "; ".join(
        f"{label(group, ', ')}: "
        + ", ".join(f"{name} {gain.summary.mean:+.2f} ({gain.verdict or 'not tested'})" for name, gain in own.items())
        for group, own in lines
    )
    width, height = 3.35 + max(1.35, inches(*labels)), 1.35 + len(lines) * max(0.34, 0.15 * count)
    title = f"Gains over {BASELINE} on test, suite {suite}"
    return draw(f"{suite}-gains", title, f"Points gained over {BASELINE}. {alt}.", paint, size=(width, height))
