"""Tasks by encoders: the scores at a glance, and the gains behind them, also as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elmo_bench.reporting.canvas import FAINT, INK, SURFACE, Drawing, inches, label, look
from elmo_bench.reporting.gains import Gain, Gains, adjusted
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.layouts import Made
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import JUDGED, Cell, Column, Line, Table, gain_cells, make_table, seeds, spread, words
from elmo_bench.reporting.tasks import task_info
from elmo_bench.spec.experiments import MAIN, Experiment, Variant

Names = tuple[str, str]  # of a row and of what it is compared with


@dataclass(frozen=True)
class Picked:
    """The runs of a group that compare encoders, by encoder: those that the experiment names first."""

    group: Group
    rows: dict[str, Row]
    tests: dict[Names, Gain]

    @property
    def gains(self) -> dict[str, Gain]:
        """Over the baseline."""
        return {ours: gain for (ours, _), gain in self.tests.items() if gain.theirs.spec.encoder == BASELINE}


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """All tables and figures of a suite."""
    found = picked(experiment, groups, gain)
    return tables(experiment, suite, found), figures(experiment, suite, found)


def picked(experiment: Experiment, groups: Sequence[Group], gain: Gains) -> list[Picked]:
    """Each group on all of the data that has such runs, two of them unless the experiment is the main one.

    The differences that the main experiment names, over all tasks, are the primary family of tests; all others are a
    second one, which is exploratory.
    """
    found = [(group, _rows(experiment, group)) for group in groups if not group.basis.fraction]
    found = [(group, own) for group, own in found if len(own) >= (1 if experiment.name == MAIN else 2)]
    pairs = [
        (group, names, [own[name][1] for name in names]) for group, own in found for names in _pairs(experiment, own)
    ]
    gains: dict[tuple[Group, Names], Gain] = {}
    for primary in (True, False):
        family = [pair for pair in pairs if _primary(experiment, pair[2][0]) == primary]
        tested = adjusted([gain(*rows) for _, _, rows in family])
        gains |= {(group, names): each for (group, names, _), each in zip(family, tested, strict=True)}
    return [
        Picked(
            group,
            {name: row for name, (_, row) in own.items()},
            {names: gains[group, names] for names in _pairs(experiment, own)},
        )
        for group, own in found
    ]


def tables(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> list[Table]:
    """Scores; then, if there is anything to compare, gains."""
    if not picked:
        return []
    compared = any(one.tests for one in picked)
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
    title, stem = _title(experiment, f"Gains over {BASELINE} on test, suite {suite}"), _stem(experiment, suite, "gains")
    return [Drawing(stem, title, f"Points gained over {BASELINE}. {alt}.", paint, size=(width, height))]


def _rows(experiment: Experiment, group: Group) -> dict[str, tuple[Variant, Row]]:
    """By name: that of the variant if it has an encoder of its own, else the encoder's; in order."""
    compared = [(variant, row) for row in group.rows if (variant := experiment.variant_of(row.spec))]
    names = [", ".join(filter(None, [v.key if v.encoder else row.encoder, row.note])) for v, row in compared]
    found = dict(zip(names, compared, strict=True))
    return {name: found[name] for name in sorted(found, key=lambda name: _rank(experiment, name))}


def _pairs(experiment: Experiment, own: dict[str, tuple[Variant, Row]]) -> list[Names]:
    """Each row and a reference of its variant, on the same basis; an encoder in another's position has the first."""
    found = []
    for name, (variant, row) in own.items():
        keys = experiment.references(variant.key)
        for key in keys if variant.encoder or row.encoder == experiment.encoder else keys[:1]:
            fits = (n for n, (other, its) in own.items() if other.key == key and n != name and its.basis == row.basis)
            found += [(name, other) for other in fits if own[other][0].encoder or own[other][1].encoder == row.encoder]
    return found


def _primary(experiment: Experiment, row: Row) -> bool:
    """Whether the tests of a row are what the experiment is for, and decided before its runs."""
    return experiment.name == MAIN and row.encoder in {variant.key for variant in experiment.variants}


def _stem(experiment: Experiment, suite: str, name: str) -> str:
    return f"{suite}-{name}" if experiment.name == MAIN else f"{suite}-{experiment.name}-{name}"


def _title(experiment: Experiment, title: str) -> str:
    return title if experiment.name == MAIN else f"{experiment.caption}: {title[0].lower()}{title[1:]}"


def _glance(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    encoders = sorted({name for one in picked for name in one.rows}, key=lambda name: _rank(experiment, name))
    tested = [(names, gain) for one in picked for names, gain in one.tests.items()]
    others = dict.fromkeys(names for names, gain in tested if gain.theirs.spec.encoder != BASELINE)
    lines: list[Line] = []
    for one in picked:
        info, paper = task_info(one.group.task, suite), experiment.paper.get(one.group.task)
        both = " → ".join(str(paper.figures[name]) for name in (BASELINE, experiment.encoder)) if paper else ""
        lines.append(
            {
                Column("task", words=True): words(one.group.heading),
                **{Column(name, JUDGED): _judged(one.rows.get(name), one.gains.get(name)) for name in encoders},
                **{
                    Column(f"{ours} − {theirs}", ("mean", "verdict")): _difference(one.tests.get((ours, theirs)))
                    for ours, theirs in others
                },
                Column("score", words=True): words(
                    "/".join(sorted({row.newest["metric"] for row in one.rows.values()}))
                ),
                Column("n", words=True): words(_seeds(one.rows)),
                Column("trained on", words=True): words(_trained_on(one.group)),
                Column("width", words=True): words(
                    f"{info.width} of the paper's" if info.width and one.group.basis.size == "cpu" else ""
                ),
                Column(f"the paper, {BASELINE} → {experiment.encoder}", words=True): words(
                    info.beside_paper(f"{paper.scored}: {both}") if paper else ""
                ),
            }
        )
    tasks = [one.group.task for one in picked]
    title = _title(experiment, f"Test scores, suite {suite}")
    return make_table(_stem(experiment, suite, "glance"), title, lines, tasks=tasks)


def _judged(row: Row | None, gain: Gain | None) -> Cell:
    if row is None:
        return Cell("")
    hint = gain.said if gain else "not converged" if row.mark else ""
    return spread(row.summary("test"), run=row.anchor, mark=(gain.mark if gain else "") or row.mark, hint=hint)


def _difference(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell("")
    shown = f"{gain.mean:+.2f} {gain.mark}".rstrip().replace("-", "−")
    return Cell(shown, (gain.mean, gain.said), gain.ours.anchor, hint=gain.said)


def _seeds(rows: dict[str, Row]) -> str:
    """`3`, or how many each has, most first: `5: glove, elmo; 3: none`."""
    found: dict[int, list[str]] = {}
    for name, row in rows.items():
        found.setdefault(len(row.seeds), []).append(name)
    if len(found) == 1:
        return str(*found)
    return "; ".join(f"{count}: {', '.join(found[count])}" for count in sorted(found, reverse=True))


def _gains(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    found = [(one.group, *pair, gain) for one in picked for pair, gain in one.tests.items()]
    lines: list[Line] = []
    for group, name, other, gain in found:
        paper = experiment.paper.get(group.task) if (name, other) == (experiment.encoder, BASELINE) else None
        printed = task_info(group.task, suite).beside_paper(f"+{paper.gain}, {paper.scored}") if paper else ""
        lines.append(
            {
                Column("task", words=True): words(group.heading),
                Column("encoder", words=True): words(name),
                Column("over", words=True): words(other),
                Column("family", words=True): words("primary" if _primary(experiment, gain.ours) else "exploratory"),
                Column("seeds"): seeds(gain.ours.seeds, gain.ours.anchor),
                **gain_cells(gain, "", parts=True),
                Column("the paper's gain", words=True): words(printed),
            }
        )
    title, stem = _title(experiment, f"Gains on test, suite {suite}"), _stem(experiment, suite, "gains")
    tasks, gains = [group.task for group, *_ in found], [gain for *_, gain in found]
    return make_table(stem, title, lines, tasks=tasks, gains=gains)


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
