"""Everything that a leaderboard shows, before it becomes a page: a section an experiment and suite, then all runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from elmo_bench.ledger import Failure, RunPaths
from elmo_bench.ledger.costs import EncoderCost
from elmo_bench.reporting.canvas import Drawing
from elmo_bench.reporting.costs import Costs, by_machine
from elmo_bench.reporting.gains import Gains, gains_from
from elmo_bench.reporting.groups import Group, groups
from elmo_bench.reporting.layouts import (
    encoders,
    fractions,
    layers,
    runs,
    slices,
    speed,
    tuning,
    variants,
    weights,
    worth,
)
from elmo_bench.reporting.rows import Selection
from elmo_bench.reporting.table import Table
from elmo_bench.reporting.tasks import in_paper_order, task_info
from elmo_bench.spec.experiments import MAIN, Experiment, experiments


@dataclass(frozen=True)
class Section:
    """Tables and figures that belong together; `name` is its address on the page."""

    name: str
    title: str
    about: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Drawing] = field(default_factory=list)
    legend: bool = False  # whether its first table needs the legend of the verdicts
    protocols: Sequence[int] = ()  # training protocols of its runs

    @property
    def heading(self) -> str:
        """Its title, with the training protocols of its runs."""
        found = " and ".join(map(str, self.protocols))
        return f"{self.title} (protocol{'s' if len(self.protocols) > 1 else ''} {found})"


@dataclass(frozen=True)
class Suite:
    """Everything of one suite."""

    name: str
    groups: list[Group]
    sections: list[Section]

    @property
    def listed(self) -> list[Group]:
        """The groups with a table of all runs."""
        return runs.listed(self.groups)


@dataclass(frozen=True)
class Leaderboard:
    """What a page is rendered from; `command` renders the same page again."""

    command: str
    suites: list[Suite]
    selection: Selection
    failures: Sequence[tuple[RunPaths, Failure]]

    @property
    def tables(self) -> list[Table]:
        return [table for suite in self.suites for section in suite.sections for table in section.tables]

    @property
    def figures(self) -> list[Drawing]:
        return [figure for suite in self.suites for section in suite.sections for figure in section.figures]


def leaderboard(
    selection: Selection,
    failures: Sequence[tuple[RunPaths, Failure]],
    *,
    ledger: Path,
    command: str,
    combine: bool = False,
    costs: Sequence[EncoderCost] = (),
) -> Leaderboard:
    """Compute every table and draw every figure that the ledger has records for; `combine`: see `groups`.

    costs: of encoders, whose gains are shown against them.
    """
    gain = gains_from(ledger)
    found = groups(selection.rows, combine=combine)
    order = in_paper_order({group.task for group in found})
    found.sort(key=lambda group: (group.suite, order.index(group.task)))
    suites = []
    for name in dict.fromkeys(group.suite for group in found):
        own = [group for group in found if group.suite == name]
        suites.append(Suite(name, own, sections(name, own, gain, costs=by_machine(costs), ledger=ledger)))
    return Leaderboard(command, suites, selection, failures)


def sections(
    suite: str, groups: Sequence[Group], gain: Gains, *, costs: Sequence[Costs] = (), ledger: Path | None = None
) -> list[Section]:
    """A section for each experiment that has enough runs, then the costs of its encoders, slices of test, all runs.

    An experiment shows the runs of the newest training protocol that it has records of; `All runs` has the others too.
    """
    shown = [experiment for experiment in map(Experiment.load, experiments()) if experiment.caption]
    found = []
    for experiment in shown:
        newest = _of_newest_protocol(experiment, [group for group in groups if _shows(experiment, group)])
        tables, figures = _LAYOUTS[experiment.layout](experiment, suite, newest, gain)
        if tables:
            legend = experiment.layout == "encoders"
            about = (experiment.name, experiment.caption, experiment.about)
            found.append(Section(*about, tables, figures, legend, _protocols(newest)))
    found += _worth(suite, groups, gain, costs)
    if ledger is not None and (sliced := slices.read(groups, ledger)):
        protocols = _protocols([each.group for each in sliced])
        about = ("slices", "Slices of test", slices.ABOUT)
        found.append(Section(*about, [slices.table(suite, sliced)], protocols=protocols))
    return [*found, Section("runs", "All runs", runs.ABOUT, runs.tables(groups, gain), protocols=_protocols(groups))]


def _worth(suite: str, groups: Sequence[Group], gain: Gains, costs: Sequence[Costs]) -> list[Section]:
    """A section if there are costs of two encoders that were compared."""
    main = Experiment.load(MAIN)
    newest = _of_newest_protocol(main, [group for group in groups if _shows(main, group)])
    tables, figures = worth.made(main, suite, newest, gain, costs)
    return [Section("worth", worth.TITLE, worth.ABOUT, tables, figures, False, _protocols(newest))] if tables else []


def _of_newest_protocol(experiment: Experiment, groups: Sequence[Group]) -> list[Group]:
    """The groups without the rows of any other protocol than the newest that the experiment has rows of."""
    rows = [row for group in groups for row in group.rows]
    own = [row for row in rows if experiment.variant_of(row.spec)] or rows
    newest = max((row.spec.protocol for row in own), default=0)
    kept = [replace(group, rows=tuple(row for row in group.rows if row.spec.protocol == newest)) for group in groups]
    return [group for group in kept if group.rows]


def _protocols(groups: Sequence[Group]) -> list[int]:
    return sorted({row.spec.protocol for group in groups for row in group.rows})


def _shows(experiment: Experiment, group: Group) -> bool:
    return group.task in experiment.values("task") or not task_info(group.task, group.suite).probe


_LAYOUTS = {
    "encoders": encoders.made,
    "variants": variants.made,
    "line": variants.made,
    "fractions": fractions.made,
    "weights": weights.made,
    "tuning": tuning.made,
    "speed": speed.made,
    "layers": layers.made,
}
