"""Tasks by encoders: the scores at a glance, and the gains behind them, also as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elmo_bench.reporting.canvas import FAINT, INK, SURFACE, Drawing, inches, label, look
from elmo_bench.reporting.gains import Gain, Gains, family_of, over_baseline
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import JUDGED, Cell, Column, Line, Table, gain_cells, make_table, seeds, spread, words
from elmo_bench.reporting.tasks import task_info
from elmo_bench.spec.experiments import Experiment


@dataclass(frozen=True)
class Picked:
    """The runs of a group that compare encoders, by encoder: those that the experiment names first."""

    group: Group
    rows: dict[str, Row]
    gains: dict[str, Gain]  # over the baseline; by encoder, without the baseline


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """All tables and figures of a suite."""
    found = picked(experiment, groups, gain)
    return tables(experiment, suite, found), figures(experiment, suite, found)


def picked(experiment: Experiment, groups: Sequence[Group], gain: Gains) -> list[Picked]:
    """Each group on all of the data that has such runs.

    The gains of the experiment's encoder over all tasks are the primary family of tests; the gains of other encoders
    are a second one, which is exploratory.
    """
    found = [(group, _rows(experiment, group)) for group in groups if not group.basis.fraction]
    pairs = [pair for _, rows in found for pair in over_baseline(list(rows.values()))]
    primary = [pair for pair in pairs if pair[0].encoder == experiment.encoder]
    gains = family_of(primary, gain) | family_of([pair for pair in pairs if pair not in primary], gain)
    return [
        Picked(group, rows, {name: gains[row.anchor] for name, row in rows.items() if row.anchor in gains})
        for group, rows in found
        if rows
    ]


def tables(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> list[Table]:
    """Scores; then, if there is anything to compare, gains."""
    if not picked:
        return []
    compared = any(one.gains for one in picked)
    return [_glance(experiment, suite, picked), *([_gains(experiment, suite, picked)] if compared else [])]


def figures(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> list[Drawing]:
    """Gains with their intervals over seeds: a line a task, a mark an encoder; none if there is nothing to compare.

    Only the table has the gains of runs that are not converged: they say nothing about an encoder, and a head that
    learned nothing would stretch the axis.
    """
    lines = [
        (one.group, drawn)
        for one in picked
        if (drawn := {name: gain for name, gain in one.gains.items() if gain.converged})
    ]
    if not lines:
        return []
    left_out = [
        f"{name} on {label(one.group, ', ')}"
        for one in picked
        for name, gain in one.gains.items()
        if not gain.converged
    ]
    encoders = list(dict.fromkeys(name for _, own in lines for name in own))
    looks, count = look(encoders), len(encoders)
    printed = [experiment.paper.get(group.task) for group, _ in lines]
    labels = [label(group) for group, _ in lines]
    shows_paper = any(paper and paper.gain is not None for paper in printed)
    gains = [gain for _, own in lines for gain in own.values()]
    hollow = list(dict.fromkeys(gain.said for gain in gains if gain.verdict in ("tie", "")))

    def paint(axes: Axes) -> None:
        axes.axvline(0, color=FAINT, linewidth=1)
        for at, ((_, own), paper) in enumerate(zip(lines, printed, strict=True)):
            for rank, (name, gain) in enumerate(own.items()):
                colour, marker = looks[name]
                y = at + (rank - (len(own) - 1) / 2) * 0.7 / count
                if gain.difference:
                    axes.plot(gain.difference.interval, (y, y), color=colour, linewidth=1.6, solid_capstyle="butt")
                face = SURFACE if gain.verdict in ("tie", "") else colour
                axes.plot(gain.mean, y, marker, color=colour, markerfacecolor=face, markeredgewidth=1.4)
            if paper and paper.gain is not None:
                axes.plot(paper.gain, at, "|", color=INK, markersize=17, markeredgewidth=1.4)
        axes.set_yticks(range(len(lines)), labels)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        below = "\nnot drawn: what is not converged" if left_out else ""
        axes.set_xlabel(f"points over {BASELINE} on test\nbars: 95 % interval over seeds and items{below}")
        keys = [Line2D([], [], color=looks[n][0], marker=looks[n][1], label=n) for n in encoders]
        if hollow:
            ring: dict[str, Any] = {"color": FAINT, "marker": "o", "markerfacecolor": SURFACE, "linestyle": ""}
            keys.append(Line2D([], [], label=f"hollow: {' or '.join(hollow)}", **ring))
        if shows_paper:
            other = "" if suite == "paper" else ", on its data"
            bar: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 12, "linestyle": "", "mew": 1.4}
            keys.append(Line2D([], [], label=f"the paper's {experiment.encoder}{other}", **bar))
        axes.figure.legend(handles=keys, loc="outside upper left", ncols=2 if len(keys) > 2 else len(keys))

    alt = "; ".join(
        f"{label(group, ', ')}: " + ", ".join(f"{name} {gain.mean:+.2f} ({gain.said})" for name, gain in own.items())
        for group, own in lines
    )
    alt += f". Not drawn, as not converged: {', '.join(left_out)}" if left_out else ""
    width, height = 3.35 + max(1.35, inches(*labels)), 1.35 + len(lines) * max(0.34, 0.15 * count)
    title = f"Gains over {BASELINE} on test, suite {suite}"
    return [Drawing(f"{suite}-gains", title, f"Points gained over {BASELINE}. {alt}.", paint, size=(width, height))]


def _rows(experiment: Experiment, group: Group) -> dict[str, Row]:
    compared = [row for row in group.rows if experiment.variant_of(row.spec)]
    found = {", ".join(filter(None, [row.encoder, row.note])): row for row in compared}
    return {name: found[name] for name in sorted(found, key=lambda name: _rank(experiment, name))}


def _glance(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    encoders = sorted({name for one in picked for name in one.rows}, key=lambda name: _rank(experiment, name))
    lines: list[Line] = []
    for one in picked:
        info, paper = task_info(one.group.task, suite), experiment.paper.get(one.group.task)
        both = " → ".join(str(paper.figures[name]) for name in (BASELINE, experiment.encoder)) if paper else ""
        lines.append(
            {
                Column("task", words=True): words(one.group.heading),
                **{Column(name, JUDGED): _judged(one.rows.get(name), one.gains.get(name)) for name in encoders},
                Column("score", words=True): words(
                    "/".join(sorted({row.newest["metric"] for row in one.rows.values()}))
                ),
                Column("trained on", words=True): words(_trained_on(one.group)),
                Column(f"the paper, {BASELINE} → {experiment.encoder}", words=True): words(
                    info.beside_paper(f"{paper.scored}: {both}") if paper else ""
                ),
            }
        )
    tasks = [one.group.task for one in picked]
    return make_table(f"{suite}-glance", f"Test scores, suite {suite}", lines, tasks=tasks)


def _judged(row: Row | None, gain: Gain | None) -> Cell:
    if row is None:
        return Cell("")
    hint = gain.said if gain else "not converged" if row.mark else ""
    return spread(row.summary("test"), run=row.anchor, mark=(gain.mark if gain else "") or row.mark, hint=hint)


def _gains(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    found = [(one.group, name, gain) for one in picked for name, gain in one.gains.items()]
    lines: list[Line] = []
    for group, name, gain in found:
        paper = experiment.paper.get(group.task) if name == experiment.encoder else None
        printed = task_info(group.task, suite).beside_paper(f"+{paper.gain}, {paper.scored}") if paper else ""
        lines.append(
            {
                Column("task", words=True): words(group.heading),
                Column("encoder", words=True): words(name),
                Column("family", words=True): words("primary" if name == experiment.encoder else "exploratory"),
                Column("seeds"): seeds(gain.ours.seeds, gain.ours.anchor),
                **gain_cells(gain, parts=True),
                Column("the paper's gain", words=True): words(printed),
            }
        )
    title, tasks = f"Gains over {BASELINE} on test, suite {suite}", [group.task for group, _, _ in found]
    return make_table(f"{suite}-gains", title, lines, tasks=tasks, gains=[gain for _, _, gain in found])


def _trained_on(group: Group) -> str:
    """The data set and how many examples of it, out of how many in the paper."""
    if group.whole is None:
        return "no run on all of it"
    info = task_info(group.task, group.suite)
    of = f" (paper: {info.trained:,})" if info.trained and info.trained != group.whole else ""
    return (f"{info.data}: " if info.data else "") + f"{group.whole:,} {info.unit}{of}"


def _rank(experiment: Experiment, name: str) -> tuple[int, str]:
    order = [variant.key for variant in experiment.variants]
    return order.index(name) if name in order else len(order), name
