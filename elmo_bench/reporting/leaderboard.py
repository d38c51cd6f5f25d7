"""Everything that a leaderboard shows, before it becomes a page: the picture, table 1, a section an experiment."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elmo_bench.ledger import minutes_of
from elmo_bench.ledger.costs import EncoderCost
from elmo_bench.reporting import cards, curves, encoders, layers, picture, slices, variants
from elmo_bench.reporting.canvas import Drawing, Made
from elmo_bench.reporting.gains import Gain, Gains, family_of, gains_from, over_baseline
from elmo_bench.reporting.groups import Group, groups, in_paper_order
from elmo_bench.reporting.rows import Row, Selection, mixed_code, of_newest_protocol
from elmo_bench.reporting.table import EXPLORATORY, Line, Table, gain_cells, make_table, number, printed, scores, spread
from elmo_bench.spec.config import choices, reads_own_data
from elmo_bench.spec.experiments import MAIN, Experiment, experiments

BEST = 20  # runs of a table that are always shown
# (experiment, suite, groups, gain) to tables and figures
_LAYOUTS = {
    "encoders": encoders.made,
    "variants": variants.made,
    "fractions": curves.fractions,
    "weights": layers.weights,
    "speed": curves.speed,
}


@dataclass(frozen=True)
class Section:
    """Tables and figures that belong together; `name` is its address on the page."""

    name: str
    title: str
    about: str  # empty: words.j2 has it
    tables: list[Table]
    figures: list[Drawing]
    protocol: str  # the training protocols of its runs, in words
    command: str = ""  # makes its runs
    spent: str = ""  # what they took


@dataclass(frozen=True)
class Suite:
    """Everything of one suite."""

    name: str
    groups: Sequence[Group]
    headline: str  # what the main experiment shows
    picture: Drawing | None
    table1: Table | None
    cards: list[cards.Card]
    sections: list[Section]

    @property
    def title(self) -> str:
        """The suite's name; of data that a user brought, that they are this."""
        own = all(reads_own_data(group.task) for group in self.groups)
        return f"Your data: {self.name}" if own else f"Suite {self.name}"


@dataclass(frozen=True)
class Leaderboard:
    """What a page is rendered from; `command` renders the same page again."""

    command: str
    suites: list[Suite]
    selection: Selection

    @property
    def tables(self) -> list[Table]:
        first = [suite.table1 for suite in self.suites if suite.table1]
        return first + [table for suite in self.suites for section in suite.sections for table in section.tables]

    @property
    def figures(self) -> list[Drawing]:
        first = [suite.picture for suite in self.suites if suite.picture]
        return first + [figure for suite in self.suites for section in suite.sections for figure in section.figures]


def leaderboard(selection: Selection, *, ledger: Path, command: str, costs: Sequence[EncoderCost] = ()) -> Leaderboard:
    """Compute every table that the ledger has records for. costs: of encoders, whose gains are shown against them."""
    gain, every = gains_from(ledger), groups(selection.rows)
    order = in_paper_order({group.task for group in every})
    by_suite: defaultdict[str, list[Group]] = defaultdict(list)
    for group in sorted(every, key=lambda group: (group.suite, order.index(group.task))):
        by_suite[group.suite].append(group)
    suites = [_suite(name, own, gain, costs, ledger) for name, own in by_suite.items()]
    return Leaderboard(command, suites, selection)


def _suite(suite: str, groups: Sequence[Group], gain: Gains, costs: Sequence[EncoderCost], ledger: Path) -> Suite:
    """The encoders, a section for each experiment that has enough runs, worth against cost, slices of test, all runs.

    An experiment shows the runs of the newest training protocol that it has records of; `All runs` has the others too.
    """
    main = Experiment.load(MAIN)
    newest = shown(main, groups)
    with_probes = _of_one_protocol(groups, groups)
    picked = encoders.picked(main, newest, gain)
    proven = [one for one in picked if one.group.checked]  # all that headline and pictures may show
    known = cards.cards(main, picked, gain, costs)
    compared = known if proven == picked else cards.cards(main, proven, gain, costs)
    tested = {own.ours.anchor: own for one in picked for own in one.gains.values()}
    parts = [_section("encoders", "Encoders", "", ([cards.overview(suite, known)] if known else [], []), newest)]
    for experiment in (each for each in map(Experiment.load, experiments()) if each.caption):
        own = shown(experiment, groups)
        layout = _LAYOUTS[experiment.layout]
        made = layout(experiment, suite, own, gain)
        checked = [group for group in own if group.checked]
        if checked != own:
            made = made[0], layout(experiment, suite, checked, gain)[1]
        command = f"elmo-bench sweep experiment={experiment.name} suite={suite}" if suite in choices("suite") else ""
        rows = _rows(experiment, own)
        took = spent(rows) if rows else ""
        parts.append(_section(experiment.name, experiment.caption, experiment.about, made, own, command, took))
    parts += [
        _section("worth", cards.TITLE, "", cards.worth(suite, compared), newest),
        _section("slices", "Slices of test", "", (slices.made(suite, with_probes, ledger), []), with_probes),
        _section("runs", "All runs", "", ([_runs(group, gain, tested) for group in groups], []), groups),
    ]
    return Suite(
        suite,
        groups,
        picture.headline(encoders.leading(main, proven), proven),
        picture.picture(main, suite, proven),
        encoders.table1(main, suite, picked) if picked else None,
        known,
        [section for section in parts if section.tables],
    )


def _section(name: str, title: str, about: str, made: Made, groups: Sequence[Group], *more: str) -> Section:
    own = sorted({row.spec.protocol for group in groups for row in group.rows})
    return Section(name, title, about, *made, f"protocol{'s' * (len(own) > 1)} {' and '.join(map(str, own))}", *more)


def shown(experiment: Experiment, groups: Sequence[Group]) -> list[Group]:
    """The groups that an experiment may show, without the rows of any other protocol than its newest."""
    own = [group for group in groups if group.task in experiment.values("task") or not group.info.probe]
    belonging = [replace(group, rows=tuple(r for r in group.rows if _belongs(experiment, r))) for group in own]
    return _of_one_protocol(own, belonging if any(group.rows for group in belonging) else own)


def _of_one_protocol(groups: Sequence[Group], like: Sequence[Group]) -> list[Group]:
    """The groups without the rows of any other protocol than the newest of `like`."""
    kept = {row.spec.protocol for row in of_newest_protocol([row for group in like for row in group.rows])}
    cut = [replace(group, rows=tuple(row for row in group.rows if row.spec.protocol in kept)) for group in groups]
    return [group for group in cut if group.rows]


def _belongs(experiment: Experiment, row: Row) -> bool:
    """Whether a row is a run of an experiment: a variant or, where weights are shown, a run that learned some."""
    if experiment.layout == "weights":
        return row.spec.settings.get("mix") == "scalar" and not row.variation
    return experiment.variant_of(row.spec) is not None


def _rows(experiment: Experiment, groups: Sequence[Group]) -> list[Row]:
    """What the tables of an experiment are made from."""
    if experiment.layout == "variants":
        return [row for group in groups for _, row in variants.rows(experiment, group)]
    every = [(group, row) for group in groups for row in group.rows if _belongs(experiment, row)]
    if experiment.layout == "fractions":
        cut = {(group.task, row.encoder) for group, row in every if group.basis.fraction}
        return [row for group, row in every if (group.task, row.encoder) in cut]
    return [row for group, row in every if not group.basis.fraction]


def _runs(group: Group, gain: Gains, tested: Mapping[str, Gain]) -> Table:
    """Every run, whatever it changed. `tested`: gains over the baseline by anchor, as table 1 adjusts them."""
    paper = Experiment.load(MAIN).paper.get(group.task) if not group.basis.fraction else None
    others = [pair for pair in over_baseline(group.rows) if pair[0].anchor not in tested]
    gains = {**family_of(others, gain), **tested}
    lines: list[Line] = [
        {
            "run": row.label,
            **scores(row, group.measure),
            "test macro-F1": spread(row.macro_f1) if row.macro_f1 else None,
            **gain_cells(gains.get(row.anchor)),
            "trainable": number(row.newest["parameters"]["trainable"], ","),
            "minutes a run": number(row.minutes, ".1f"),
            **printed(paper, None if row.changes else row.spec.encoder, group),
        }
        for row in group.rows
    ]
    title = f"{group.any_amount.heading}, suite {group.suite}: all runs on {group.fraction or 'all of the data'}"
    notes = [EXPLORATORY, spent(group.rows), *mixed_code(group.rows)]
    return make_table(f"{group.stem}-runs", title, lines, notes=notes, most=BEST)


def spent(rows: Sequence[Row]) -> str:
    """A sentence: the core-hours of their runs on processors, and the hours on each kind of GPU.

    A core-hour is an hour of processor time. Several runs may have shared a GPU, each with all of its hours.
    """
    hours: defaultdict[str, float] = defaultdict(float)
    records = [record for row in rows for record in row.records]
    for record in records:
        device = record["environment"]["device"]
        hours["core-hours" if device == "cpu" else f"hours on {device}"] += minutes_of(record) / 60
    amounts = " and ".join(f"{number:,.1f} {unit}" for unit, number in sorted(hours.items()))
    return f"{len(records):,} runs took {amounts}." if len(records) > 1 else f"The run took {amounts}."
