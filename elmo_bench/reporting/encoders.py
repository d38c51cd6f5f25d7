"""Tables of tasks by encoders: scores, what they were trained on, and the gains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from elmo_bench.reporting.canvas import Made
from elmo_bench.reporting.gains import Gain, Gains, adjusted
from elmo_bench.reporting.groups import Group
from elmo_bench.reporting.rows import BASELINE, Row
from elmo_bench.reporting.significance import relative_reduction
from elmo_bench.reporting.table import ROW, Cell, Line, Table, gain_cells, make_table, number, part_cells, seeds, spread
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
    tables = [_glance(experiment, suite, chosen)] if chosen else []
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
    gains = [{heading: _short(one.tests.get(names)) for heading, names in pairs.items()} for one in picked]
    lines = [line | own for line, own in zip(_scores(picked, every[:COLUMNS]), gains, strict=True)]
    return make_table(f"{suite}-table1", f"Table 1, suite {suite}", lines, tasks=[one.group.task for one in picked])


def _scores(picked: Sequence[Picked], names: Sequence[str]) -> list[Line]:
    return [
        {"task": one.group.heading, "score": one.group.measure}
        | {name: _judged(one, name) if name in one.rows else None for name in names}
        for one in picked
    ]


def _judged(one: Picked, name: str) -> Cell:
    row, gain = one.rows[name], one.gains.get(name)
    hint = f"{_bounds(gain)} over {BASELINE}: {gain.said}" if gain else "not converged" if row.mark else ""
    mark = (gain.mark if gain else "") or row.mark
    verdict = gain.said if gain else hint or None
    return spread(row.summary("test"), run=row.anchor, mark=mark, hint=hint, verdict=verdict)


def _short(gain: Gain | None) -> Cell | None:
    """A difference in one decimal with its mark and its interval."""
    if gain is None:
        return None
    low, high = gain.difference.interval if gain.difference else (None, None)
    values = {"mean": gain.mean, "low": low, "high": high, "verdict": gain.said}
    return Cell(_bounds(gain, gain.mark), values, gain.ours.anchor, hint=gain.said)


def _bounds(gain: Gain, mark: str = "") -> str:
    bounds = "({:.1f} to {:.1f})".format(*gain.difference.interval) if gain.difference else ""
    return " ".join(filter(None, [f"{gain.mean:+.1f}", mark, bounds])).replace("-", "−")


def _glance(experiment: Experiment, suite: str, picked: Sequence[Picked]) -> Table:
    """Every encoder's scores, and on what: the data set and how many examples of it, out of how many in the paper."""
    lines = _scores(picked, sorted({name for one in picked for name in one.rows}, key=experiment.position))
    for one, line in zip(picked, lines, strict=True):
        group, info, paper = one.group, one.group.info, experiment.paper.get(one.group.task)
        both = " → ".join(str(paper.figures[name]) for name in (BASELINE, experiment.encoder)) if paper else ""
        of = f" (paper: {info.trained:,})" if info.trained and info.trained != group.whole else ""
        data = f"{info.data}: " if info.data else ""
        line["n"] = _seeds(one.rows)
        line["trained on"] = f"{data}{group.whole:,} {info.unit}{of}" if group.whole else "no run on all of it"
        line["width"] = f"{info.width} of the paper's" if info.width and group.basis.size == "cpu" else ""
        beside = info.beside_paper(f"{paper.scored}: {both}") if paper else ""
        line[f"the paper, {BASELINE} → {experiment.encoder}"] = beside
    stem, title = _named(experiment, suite, "glance", f"Test scores, suite {suite}")
    return make_table(stem, title, lines, tasks=[one.group.task for one in picked])


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
    for each, (name, other), gain in ((one, *test) for one in picked for test in one.tests.items()):
        group = each.group
        paper = experiment.paper.get(group.task) if (name, other) == (experiment.encoder, BASELINE) else None
        line: Line = {"the paper's gain": None, "the paper's fewer errors": None}
        if paper:
            beside, errors = group.info.beside_paper(paper.scored), printed_reduction(experiment, each)
            line["the paper's gain"] = replace(number(paper.gain, "+.2f", run=""), hint=beside)
            line["the paper's fewer errors"] = number(errors, ".1f", run="", suffix=" %")
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
                **line,
            }
        )
    return make_table(*_named(experiment, suite, "gains", f"Gains on test, suite {suite}"), lines)


def printed_reduction(experiment: Experiment, one: Picked) -> float | None:
    """The share of the baseline's errors that the paper's encoder removes, in percent; None without its figures."""
    if (paper := experiment.paper.get(one.group.task)) is None:
        return None
    return relative_reduction(*(paper.figures[name].mean for name in (experiment.encoder, BASELINE)))
