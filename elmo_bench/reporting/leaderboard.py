"""All that a leaderboard shows, before it is a page: suites, their tables and figures, and the runs behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elmo_bench.ledger import Failure, RunPaths
from elmo_bench.reporting.catalogue import EXPERIMENTS
from elmo_bench.reporting.figures.canvas import Figure
from elmo_bench.reporting.figures.curves import efficiency_figure, learning_curves, penalty_figure
from elmo_bench.reporting.figures.gains import gains_figure
from elmo_bench.reporting.figures.heat import layer_figures
from elmo_bench.reporting.fractions import fraction_tables
from elmo_bench.reporting.gains import Gains, gains_from
from elmo_bench.reporting.layers import layer_tables
from elmo_bench.reporting.like import Group, groups
from elmo_bench.reporting.paper import in_paper_order
from elmo_bench.reporting.scores import gain_table, glance, plain_gains, plain_rows, runs_table
from elmo_bench.reporting.select import Selection
from elmo_bench.reporting.table import Table


@dataclass(frozen=True)
class Section:
    """Tables and figures that belong together; `name` is its address on the page."""

    name: str
    title: str
    about: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


@dataclass(frozen=True)
class Suite:
    """Everything of one suite; the first section is the glance, where a run compares encoders and nothing else."""

    name: str
    groups: list[Group]
    sections: list[Section]


@dataclass(frozen=True)
class Leaderboard:
    """What a page is rendered from; `command` is what to type for the same page."""

    command: str
    suites: list[Suite]
    selection: Selection
    failures: Sequence[tuple[RunPaths, Failure]]

    @property
    def tables(self) -> list[Table]:
        return [table for suite in self.suites for section in suite.sections for table in section.tables]

    @property
    def figures(self) -> list[Figure]:
        return [figure for suite in self.suites for section in suite.sections for figure in section.figures]


def leaderboard(
    selection: Selection,
    failures: Sequence[tuple[RunPaths, Failure]],
    *,
    ledger: Path,
    command: str,
    unlike: bool = False,
) -> Leaderboard:
    """Compute every table and draw every figure that the ledger has records for."""
    gain = gains_from(ledger)
    found = groups(selection.rows, unlike=unlike)
    suites = []
    for name in sorted({group.suite for group in found}):
        own = [group for group in found if group.suite == name]
        order = in_paper_order({group.task for group in own})
        own.sort(key=lambda group: order.index(group.task))
        suites.append(Suite(name, own, _sections(name, own, gain)))
    return Leaderboard(command, suites, selection, failures)


def _sections(suite: str, own: list[Group], gain: Gains) -> list[Section]:
    whole = [group for group in own if group.whole]
    sections = []
    if any(plain_rows(group) for group in whole):
        gains = plain_gains(whole, gain)
        drawn = gains_figure(suite, whole, gains)
        tables = [glance(suite, whole, gains), *([gain_table(suite, whole, gains)] if gains else [])]
        sections.append(Section("glance", "At a glance", "", tables, [drawn] if drawn else []))
    for experiment in EXPERIMENTS:
        if tables := experiment.tables(suite, whole, gain):
            drawn_by_task = experiment.name == "regularisation"
            figures = [penalty_figure(g, rows) for g in whole if drawn_by_task and (rows := experiment.rows(g))]
            sections.append(Section(experiment.name, experiment.title, experiment.about, tables, figures))
    if tables := fraction_tables(own, gain):
        efficiency = efficiency_figure(suite, own)
        figures = [*learning_curves(own), *([efficiency] if efficiency else [])]
        sections.append(Section("figure1", "Less training data", FRACTIONS, tables, figures))
    if tables := layer_tables(whole):
        sections.append(Section("figure2", "What the layers weigh", LAYERS, tables, layer_figures(suite, whole)))
    return [*sections, Section("runs", "All runs", RUNS, [runs_table(group, gain) for group in own])]


FRACTIONS = (
    "The paper's figure 1: the same runs on nested parts of the training split; error bars are one standard deviation. "
    "The last column says how much data the baseline needs for that score, by a straight line between its runs over "
    "the logarithm of the share."
)
LAYERS = (
    "The paper's figure 2: softmax weights at the best epoch, means over seeds. Hatched: below an even share (1/3 of "
    "three layers); speckled: above two of them (2/3)."
)
RUNS = (
    "Every run on the whole of its data. Runs on part of it stand under “Less training data”; a task that has no "
    "others has them here, in a table that says so."
)
