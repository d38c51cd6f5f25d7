"""Tasks by encoders: scores, what they were trained on, and gains; table 1, and the picture of a gain's parts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes

from elmo_bench.reporting.canvas import INK, SURFACE, Drawing, Made, lanes, look
from elmo_bench.reporting.gains import Gain, Gains, adjusted
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.significance import relative_reduction
from elmo_bench.reporting.table import (
    ROW,
    Cell,
    Line,
    Table,
    gain_cells,
    judged,
    make_table,
    number,
    p_value,
    seeds,
    short,
    signed,
)
from elmo_bench.reporting.variants import VariantRow, is_reference
from elmo_bench.spec.experiments import MAIN, Experiment

Names = tuple[str, str]  # of a row and of what it is compared with
CONTROLS = ("none", "random")  # what an encoder is checked with: in no main table
PROSE = {"elmo": "ELMo", BASELINE: "GloVe"}  # encoders in a sentence, where they are no names of columns
OVER = PROSE[BASELINE]
COLUMNS = 4  # encoders of the main table: it fits a page of 1,000 pixels


@dataclass(frozen=True, eq=False)
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
    """A table of all scores and, if there is anything to compare, one of gains."""
    chosen = picked(experiment, groups, gain)
    names = sorted({name for one in chosen for name in one.rows}, key=experiment.position)
    titles, tasks = (
        _named(experiment, suite, "glance", f"Test scores, suite {suite}"),
        [one.group.task for one in chosen],
    )
    tables = [make_table(*titles, _scores(chosen, names), tasks=tasks)] if chosen else []
    tables += [_gains(experiment, suite, chosen)] if any(one.tests for one in chosen) else []
    return tables, []


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
    return [
        Picked(
            group,
            {name: row for name, (_, row) in own.items()},
            {names: each for (its, names), each in every.items() if its is group},
        )
        for group, own in chosen
    ]


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


def leading(experiment: Experiment, picked: Sequence[Picked]) -> str:
    """The encoder that the page is about: the experiment's own or, without a run of it, the first of the others."""
    names = {name for one in picked for name in one.gains} or {experiment.encoder}
    return min(names, key=lambda name: (name != experiment.encoder, name in CONTROLS, experiment.position(name)))


def parts(experiment: Experiment, name: str) -> dict[str, Names]:
    """By heading the gain of an encoder and, if the experiment names a word vector between, the two parts of it."""
    words = [word for word in experiment.references(name) if word != BASELINE]
    whole = {f"gain: {name} − {BASELINE}": (name, BASELINE)}
    split = {f"word vector: {word} − {BASELINE}": (word, BASELINE) for word in words}
    return whole | split | {f"context: {name} − {word}": (name, word) for word in words}


def table1(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    """The main table, which fits a narrow page: the scores of few encoders, and the gain of one with its parts."""
    own = [variant.key for variant in experiment.variants]
    every = sorted({name for one in picked for name in one.rows} - {*CONTROLS}, key=experiment.position)
    every.sort(key=lambda name: (name not in own, -sum(name in one.rows for one in picked) * (name not in own)))
    pairs = parts(experiment, leading(experiment, picked))
    lines = _scores(picked, every[:COLUMNS])
    for one, line in zip(picked, lines, strict=True):
        line |= {heading: short(one.tests[pair]) if pair in one.tests else None for heading, pair in pairs.items()}
    return make_table(f"{suite}-table1", f"Table 1, suite {suite}", lines, tasks=[one.group.task for one in picked])


def _scores(picked: Sequence[Picked], names: Sequence[str]) -> list[Line]:
    return [
        {"task": one.group.heading, "score": one.group.measure}
        | {name: judged(one.rows[name], one.gains.get(name)) if name in one.rows else None for name in names}
        for one in picked
    ]


def _gains(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    lines: list[Line] = []
    for each, (name, other), gain in ((one, *test) for one in picked for test in one.tests.items()):
        group, tested = each.group, gain.difference
        paper = experiment.paper.get(group.task) if (name, other) == (experiment.encoder, BASELINE) else None
        beside = group.info.beside_paper(paper.scored) if paper else ""
        fewer = number(printed_reduction(experiment, each), ".1f", run="", suffix=" %") if paper else None
        lines.append(
            {
                ROW: gain.ours,
                "task": group.heading,
                "encoder": name,
                "over": Cell(other, {"": other}, gain.theirs.anchor),
                "family": "primary" if _primary(experiment, gain.ours) else "exploratory",
                "seeds": seeds(gain.ours),
                **gain_cells(gain, ""),
                "p": p_value(gain.p),
                "± seeds": number(sqrt(sum(own.value for own in tested.seeds)) if tested else None),
                "± items": number(sqrt(tested.items.value) if tested else None),
                "df": number(tested.df if tested else None, ".1f"),
                "the paper's gain": replace(number(paper.gain, "+.2f", run=""), hint=beside) if paper else None,
                "the paper's fewer errors": fewer,
            }
        )
    return make_table(*_named(experiment, suite, "gains", f"Gains on test, suite {suite}"), lines)


def printed_reduction(experiment: Experiment, one: Picked) -> float | None:
    """The share of the baseline's errors that the paper's encoder removes, in percent; None without its figures."""
    if (paper := experiment.paper.get(one.group.task)) is None:
        return None
    return relative_reduction(*(paper.figures[name].mean for name in (experiment.encoder, BASELINE)))


def headline(name: str, picked: Sequence[Picked]) -> str:
    """What the gains of an encoder show, in one sentence; a question if none was tested."""
    tested = [(gain.verdict, one.group.info.title, abs(gain.mean)) for one in picked if (gain := one.gains.get(name))]
    said, name = list[str](), PROSE.get(name, name)
    for verdict, does, over in (("ahead", "gains", "over"), ("behind", "loses", "to"), ("tie", "", "")):
        own = {title[0].lower() + title[1:]: mean for its, title, mean in tested if its == verdict}
        where = _listed([*own], len({title for its, title, _ in tested if its}))
        if own and does:
            amount = " to ".join(dict.fromkeys(f"{mean:.1f}" for mean in (min(own.values()), max(own.values()))))
            said.append(f"{name} {does} {amount} points {over} {OVER} on {where}")
        elif own:
            what = "no difference was shown"
            said.append(f"on {where} {what}" if said else f"N{what[1:]} between {name} and {OVER} on {where}")
    return f"{'; '.join(said)}." if said else f"What is {name} worth over {OVER}?"


def _listed(names: Sequence[str], count: int) -> str:
    """The names or, of many, their number."""
    if len(names) > 3:
        return f"{len(names)} of {count} tasks"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def picture(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Drawing | None:
    """Gains of one encoder with intervals, split into word vector and context; beside them the errors removed.

    A line a task; None without a converged gain. Gains that are not converged are in the table alone: a head that
    learned nothing would stretch the axis, and says nothing about an encoder.
    """
    name = leading(experiment, picked)
    whole, *split = parts(experiment, name).values()
    compared = [one for one in picked if whole in one.tests]
    drawn = {one: one.tests[whole] for one in compared if one.tests[whole].converged}
    if not drawn:
        return None
    halves = {one: [one.tests[pair].mean for pair in split] if {*split} <= one.tests.keys() else [] for one in drawn}
    absent = ", ".join(one.group.label() for one in compared if one not in drawn)
    left_out = f"not drawn, since not converged: {absent}" if absent else ""
    title, colour = headline(name, [*drawn]), look([name])[name][0]

    def paint(axes: Axes, *, phone: bool = False) -> None:
        figure = axes.figure
        axes.remove()
        ratios: Any = {"height_ratios": (1.3, 1)} if phone else {"width_ratios": (1.8, 1)}
        left, right = figure.subplots(1 + phone, 2 - phone, sharey=True, **ratios)
        left.set_ylim(len(drawn) - 0.45, -0.62)
        for at, (one, gain) in enumerate(drawn.items()):
            unsplit = f"not split: no run of {split[0][0]}" if split else ""
            _bars(left, at, gain, halves[one], colour, word="word" if phone else "word vector", other=unsplit)
            _share(right, at, "ours", gain.fewer or 0.0, colour=colour)
            if name == experiment.encoder and (share := printed_reduction(experiment, one)) is not None:
                _share(right, at, "paper", share, colour=INK)
        left.set_xlabel(f"points over {OVER} on test,\nand the 95 % interval over seeds and items\n{left_out}".strip())
        paper = "\n(the paper: on its data)" * (name == experiment.encoder)
        right.set_xlabel(f"share of {OVER}'s errors removed, %{paper}")
        for half in (left, right):
            lanes(half, [fill(one.group.label(), 30) for one in drawn])
            half.margins(x=0.12)
            half.spines["left"].set_visible(False)

    said = [f"{one.group.label()} {signed(gain.mean)} ({gain.said})" for one, gain in drawn.items()]
    alt = f"{title} {'; '.join(said)}." + f" N{left_out[1:]}." * bool(left_out)
    about, size = f"Gains of {PROSE.get(name, name)} over {OVER}, suite {suite}", (13.0, 1.5 + 0.95 * len(drawn))
    stem, message, tall = f"{suite}-gains", title.rstrip("."), (6.4, 3 + 1.7 * len(drawn))
    narrow = Drawing(f"{stem}-phone", about, alt, partial(paint, phone=True), message=message, size=tall)
    return Drawing(stem, about, alt, paint, message=message, size=size, narrow=narrow)


def _bars(axes: Axes, at: int, gain: Gain, halves: Sequence[float], colour: str, *, word: str, other: str) -> None:
    """A gain's parts in one lane, or in two if one of them is a loss; below them the gain with its interval."""
    apart, start, below = (0.1 if halves and halves[0] * halves[1] < 0 else 0.0), 0.0, at + 0.3
    for lane, part, alpha in zip((at - apart, at + apart), halves, (0.4, 1.0), strict=False):
        axes.barh(lane, part, 0.18 if apart else 0.34, left=start, color=colour, alpha=alpha)
        start += part
    if not halves:
        axes.barh(at, gain.mean, 0.34, facecolor=SURFACE, edgecolor=colour, linewidth=1.6)
    low, high = gain.difference.interval if gain.difference else (gain.mean, gain.mean)
    axes.plot((low, high), (below, below), "|-", color=INK, markersize=7, linewidth=1.4)
    axes.plot(gain.mean, below, "d", color=INK, markersize=6)
    split = f"{signed(halves[0], 1)} {word}, {signed(halves[1], 1)} context" if halves else other
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    axes.annotate(split, (max(0, gain.mean, *halves[:1]), at), (9, 0), **style)
    said = f"{signed(gain.mean, 1)} {gain.mark} {gain.said}"
    axes.annotate(said, (max(0, high), below), (9, 0), weight="bold", **style)


def _share(axes: Axes, at: int, name: str, share: float, *, colour: str) -> None:
    """A mark with its name: ours a dot with the name above, the paper's a tick with the name below."""
    marker, size, side, up = ("o", 9, "bottom", 10) if name == "ours" else ("|", 16, "top", -10)
    axes.plot(share, at, marker, color=colour, markersize=size, markeredgewidth=2.4)
    text = f"{name} {share:.1f}"
    axes.annotate(text, (share, at), (0, up), textcoords="offset points", ha="center", va=side, color=colour)
