"""Tasks by encoders: the scores at a glance, and the gains behind them, also as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elmo_bench.reporting.canvas import FAINT, INK, SURFACE, Drawing, Made, inches, look
from elmo_bench.reporting.console import markdown
from elmo_bench.reporting.gains import Gain, Gains, adjusted
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.table import ROW, Cell, Line, Table, gain_cells, make_table, part_cells, seeds, signed, spread
from elmo_bench.reporting.variants import VariantRow, is_reference
from elmo_bench.spec.experiments import MAIN, Experiment

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

    @property
    def beside(self) -> dict[Names, Gain]:
        """Over other encoders."""
        return {names: gain for names, gain in self.tests.items() if gain.theirs.spec.encoder != BASELINE}


def made(experiment: Experiment, suite: str, groups: Sequence[Group], gain: Gains) -> Made:
    """A table of scores and, if there is anything to compare, a table and a figure of gains."""
    chosen = picked(experiment, groups, gain)
    tables = [_glance(experiment, suite, chosen)] if chosen else []
    tables += [_gains(experiment, suite, chosen)] if any(one.tests for one in chosen) else []
    return tables, _figure(experiment, suite, chosen)


def picked(experiment: Experiment, groups: Sequence[Group], gain: Gains) -> list[Picked]:
    """Each group on all of the data that has such runs, two of them unless the experiment is the main one.

    The differences that the main experiment names, over all tasks, are the primary family of tests; all others are a
    second one, which is exploratory.
    """
    chosen = [(group, _rows(experiment, group)) for group in groups if not group.basis.fraction]
    chosen = [(group, own) for group, own in chosen if len(own) >= (1 if experiment.name == MAIN else 2)]
    every = {
        (group, (name, other)): gain(pair[1], its[1])
        for group, own in chosen
        for name, pair in own.items()
        for other, its in own.items()
        if experiment.reference is not None and is_reference(experiment, pair, its)
    }
    for primary in (True, False):
        family = {key: each for key, each in every.items() if _primary(experiment, each.ours) == primary}
        every |= dict(zip(family, adjusted([*family.values()]), strict=True))
    tests: dict[Group, dict[Names, Gain]] = {group: {} for group, _ in chosen}
    for (group, names), each in every.items():
        tests[group][names] = each
    return [Picked(group, {name: row for name, (_, row) in own.items()}, tests[group]) for group, own in chosen]


def _rows(experiment: Experiment, group: Group) -> dict[str, VariantRow]:
    """By name: that of the variant if it has an encoder of its own, else the encoder's; in order."""
    compared = [(variant, row) for row in group.rows if (variant := experiment.variant_of(row.spec))]
    own = {variant.key if variant.encoder else row.encoder: (variant, row) for variant, row in compared}
    return {name: own[name] for name in sorted(own, key=experiment.position)}


def _primary(experiment: Experiment, row: Row) -> bool:
    """Whether the tests of a row are what the experiment is for, and decided before its runs."""
    return experiment.name == MAIN and row.encoder in {variant.key for variant in experiment.variants}


def _named(experiment: Experiment, suite: str, name: str, title: str) -> tuple[str, str]:
    """The stem and the title of a table."""
    if experiment.name == MAIN:
        return f"{suite}-{name}", title
    return f"{suite}-{experiment.name}-{name}", f"{experiment.caption}: {title[0].lower()}{title[1:]}"


def _glance(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    columns = dict.fromkeys(sorted({name for one in picked for name in one.rows}, key=experiment.position))
    columns |= dict.fromkeys(f"{ours} − {theirs}" for one in picked for ours, theirs in one.beside)
    lines = []
    for one in picked:
        line = {"task": one.group.heading, **columns, **{name: _judged(one, name) for name in one.rows}}
        for (ours, theirs), gain in one.beside.items():
            text, run = f"{signed(gain.mean)} {gain.mark}".rstrip(), gain.ours.anchor
            line[f"{ours} − {theirs}"] = Cell(text, {"mean": gain.mean, "verdict": gain.said}, run, hint=gain.said)
        lines.append(line | _about(experiment, one))
    stem, title = _named(experiment, suite, "glance", f"Test scores, suite {suite}")
    return make_table(stem, title, lines, tasks=[one.group.task for one in picked])


def _judged(one: Picked, name: str) -> Cell:
    row, gain = one.rows[name], one.gains.get(name)
    hint = gain.said if gain else "not converged" if row.mark else ""
    mark = (gain.mark if gain else "") or row.mark
    return spread(row.summary("test"), run=row.anchor, mark=mark, hint=hint, verdict=hint or None)


def _about(experiment: Experiment, one: Picked) -> Line:
    """What is scored and trained on: the data set and how many examples of it, out of how many in the paper."""
    group, info, paper = one.group, one.group.info, experiment.paper.get(one.group.task)
    both = " → ".join(str(paper.figures[name]) for name in (BASELINE, experiment.encoder)) if paper else ""
    width = f"{info.width} of the paper's" if info.width and group.basis.size == "cpu" else ""
    beside = info.beside_paper(f"{paper.scored}: {both}") if paper else ""
    of = f" (paper: {info.trained:,})" if info.trained and info.trained != group.whole else ""
    data = f"{info.data}: " if info.data else ""
    return {
        "score": "/".join(sorted({row.newest["metric"] for row in one.rows.values()})),
        "n": _seeds(one.rows),
        "trained on": f"{data}{group.whole:,} {info.unit}{of}" if group.whole else "no run on all of it",
        "width": width,
        f"the paper, {BASELINE} → {experiment.encoder}": beside,
    }


def _seeds(rows: dict[str, Row]) -> str:
    """`3`, or how many each has, most first: `5: glove, elmo; 3: none`."""
    names: dict[int, list[str]] = {}
    for name, row in rows.items():
        names.setdefault(len(row.seeds), []).append(name)
    if len(names) == 1:
        return str(*names)
    return "; ".join(f"{count}: {', '.join(names[count])}" for count in sorted(names, reverse=True))


def _gains(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    lines: list[Line] = []
    for group, (name, other), gain in ((one.group, *test) for one in picked for test in one.tests.items()):
        paper = experiment.paper.get(group.task) if (name, other) == (experiment.encoder, BASELINE) else None
        beside = group.info.beside_paper(f"{paper.gain}, {paper.scored}") if paper else ""
        lines.append(
            {
                ROW: gain.ours,
                "task": group.heading,
                "encoder": name,
                "over": Cell(other, {"": other}, gain.theirs.anchor),
                "family": "primary" if _primary(experiment, gain.ours) else "exploratory",
                "seeds": seeds(gain.ours),
                **gain_cells(gain, ""),
                **part_cells(gain),
                "the paper's gain": Cell(f"+{beside}", {"": beside}, run="") if paper else None,
            }
        )
    return make_table(*_named(experiment, suite, "gains", f"Gains on test, suite {suite}"), lines)


def readme_table(experiment: Experiment, picked: Sequence[Picked]) -> str:
    """The main experiment in markdown, short: scores, and each difference with its interval and verdict."""
    compared = [one for one in picked if one.tests]
    named = {pair for one in compared for pair in one.tests}
    names = sorted({name for pair in named for name in pair}, key=experiment.position)
    pairs = sorted(named, key=lambda pair: [names.index(name) for name in pair])
    header = ["task (score, seeds)", *(f"`{name}`" for name in names), *(f"`{a}` − `{b}`" for a, b in pairs)]
    lines = []
    for one in compared:
        metric, count = next(iter(one.rows.values())).newest["metric"].replace("_", " "), _seeds(one.rows)
        row = [f"{one.group.heading}: {metric}, {count}"]
        row += [f"{own.summary('test')} {own.mark}".strip() if (own := one.rows.get(name)) else "" for name in names]
        lines.append([*row, *(_short(one.tests.get(names)) for names in pairs)])
    return markdown(header, lines)


def _short(gain: Gain | None) -> str:
    if gain is None:
        return ""
    bounds = gain.difference and " to ".join(f"{bound:.1f}" for bound in gain.difference.interval)
    return f"{gain.mean:+.1f}{f' ({bounds})' if bounds else ''} {gain.mark}".strip().replace("-", "−")


def _figure(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> list[Drawing]:
    """Gains with their intervals over seeds: a line a task, a mark an encoder; none if there is nothing to compare.

    Only the table has the gains of runs that are not converged: they say nothing about an encoder, and a head that
    learned nothing would stretch the axis.
    """
    lines = [(one.group, own) for one in picked if (own := {n: g for n, g in one.gains.items() if g.converged})]
    if not lines:
        return []
    left_out = [f"{n} on {one.group.label()}" for one in picked for n, g in one.gains.items() if not g.converged]
    encoders = list(dict.fromkeys(name for _, own in lines for name in own))
    looks, count = look(encoders), len(encoders)
    labels = [group.label("\n") for group, _ in lines]
    printed = [paper.gain if (paper := experiment.paper.get(group.task)) else None for group, _ in lines]
    hollow = list(dict.fromkeys(g.said for _, own in lines for g in own.values() if g.verdict in ("tie", "")))

    def paint(axes: Axes) -> None:
        axes.axvline(0, color=FAINT, linewidth=1)
        for at, ((_, own), theirs) in enumerate(zip(lines, printed, strict=True)):
            for rank, (name, gain) in enumerate(own.items()):
                colour, marker = looks[name]
                y = at + (rank - (len(own) - 1) / 2) * 0.7 / count
                if gain.difference:
                    axes.plot(gain.difference.interval, (y, y), color=colour, linewidth=1.6, solid_capstyle="butt")
                face = SURFACE if gain.verdict in ("tie", "") else colour
                axes.plot(gain.mean, y, marker, color=colour, markerfacecolor=face, markeredgewidth=1.4)
            if theirs is not None:
                axes.plot(theirs, at, "|", color=INK, markersize=17, markeredgewidth=1.4)
        axes.set_yticks(range(len(lines)), labels)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        below = "\nnot drawn: what is not converged" if left_out else ""
        axes.set_xlabel(f"points over {BASELINE} on test\nbars: 95 % interval over seeds and items{below}")
        keys = [Line2D([], [], color=looks[n][0], marker=looks[n][1], label=n) for n in encoders]
        if hollow:
            label = f"hollow: {' or '.join(hollow)}"
            keys.append(Line2D([], [], color=FAINT, marker="o", markerfacecolor=SURFACE, linestyle="", label=label))
        if any(gain is not None for gain in printed):
            label = f"the paper's {experiment.encoder}" + ("" if suite == "paper" else ", on its data")
            keys.append(Line2D([], [], color=INK, marker="|", markersize=12, linestyle="", mew=1.4, label=label))
        axes.figure.legend(handles=keys, loc="outside upper left", ncols=2 if len(keys) > 2 else len(keys))

    alt = "; ".join(
        f"{group.label()}: " + ", ".join(f"{name} {gain.mean:+.2f} ({gain.said})" for name, gain in own.items())
        for group, own in lines
    )
    alt += f". Not drawn, as not converged: {', '.join(left_out)}" if left_out else ""
    width, height = 5 + max(1.35, inches(*labels)), 2.4 + len(lines) * max(0.5, 0.22 * count)
    stem, title = _named(experiment, suite, "gains", f"Gains over {BASELINE} on test, suite {suite}")
    return [Drawing(stem, title, f"Points gained over {BASELINE}. {alt}.", paint, size=(width, height))]
