"""Tasks by encoders: scores, what they were trained on, and gains; table 1."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from elmo_bench.reporting.canvas import Made
from elmo_bench.reporting.gains import Gain, Gains, adjusted
from elmo_bench.reporting.groups import Group, task_info
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.significance import relative_reduction
from elmo_bench.reporting.table import (
    REDUCTION,
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
)
from elmo_bench.reporting.variants import VariantRow, is_reference
from elmo_bench.spec.experiments import MAIN, Experiment

Names = tuple[str, str]  # of a row and of what it is compared with
CONTROLS = ("none", "random")  # what an encoder is checked with: in no main table
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
    """By the name of the variant if it has an encoder of its own, else by the encoder's; in order."""
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
    name = leading(experiment, picked)
    pairs = parts(experiment, name)
    shown = every[:COLUMNS]
    lines, notes = _scores(picked, shown), _notes(experiment, picked, shown, name, list(pairs.values()))
    for one, line in zip(picked, lines, strict=True):
        line |= {heading: short(one.tests[pair]) if pair in one.tests else None for heading, pair in pairs.items()}
    tasks = [one.group.task for one in picked]
    return make_table(f"{suite}-table1", f"Table 1, suite {suite}", lines, tasks=tasks, notes=notes)


def _notes(
    experiment: Experiment, picked: Sequence[Picked], names: Sequence[str], name: str, pairs: Sequence[Names]
) -> list[str]:
    """How many seeds there are, how many tests are adjusted together, and how large a gain a tie may hide."""
    counts, found, tested = defaultdict[str, list[str]](list), list[str](), 0
    own = name in {variant.key for variant in experiment.variants}
    for one in picked:
        title = one.group.info.title
        seeds_of = sorted({len(one.rows[name].seeds) for name in names if name in one.rows})
        if seeds_of:
            counts[" or ".join(map(str, seeds_of))].append(title)
        tested += sum(each.p is not None and _primary(experiment, each.ours) == own for each in one.tests.values())
        whole = one.tests.get(pairs[0])
        if whole and whole.difference and whole.verdict == "tie":
            found.append(f"{whole.difference.detectable:.1f} points on {title[0].lower()}{title[1:]}")
    told = "; ".join(f"{count} ({', '.join(titles)})" for count, titles in counts.items())
    notes = [f"Seeds: {told}."] if told else []
    planned = len(experiment.values("task")) * len(pairs)
    known = name == experiment.encoder and all(one.group.task in experiment.values("task") for one in picked)
    if 0 < tested < planned and known:
        notes.append(f"Holm's adjustment is over the {tested} tests that have runs, of {planned} that are planned.")
        run, suite = {one.group.task: one.rows for one in picked}, picked[0].group.suite
        for task in experiment.values("task"):
            if absent := [each.key for each in experiment.variants if each.key not in run.get(task, ())]:
                notes.append(f"No runs yet on {task_info(task, suite).title.lower()}: {', '.join(absent)}.")
    if found:
        least = f"such a test alone finds a true gain of {' and of '.join(found)} in 80 of 100 repetitions"
        notes.append(f"A tie does not show that there is no gain: {least}, and a smaller one more seldom.")
    return notes


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
        reduced = number(printed_reduction(experiment, each), ".1f", run="", suffix=" %") if paper else None
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
                f"the paper's {REDUCTION}": reduced,
            }
        )
    return make_table(*_named(experiment, suite, "gains", f"Gains on test, suite {suite}"), lines)


def printed_reduction(experiment: Experiment, one: Picked) -> float | None:
    """The relative error reduction of the paper's encoder over its baseline, in percent; None without its figures."""
    if (paper := experiment.paper.get(one.group.task)) is None:
        return None
    return relative_reduction(*(paper.figures[name].mean for name in (experiment.encoder, BASELINE)))
