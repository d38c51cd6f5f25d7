"""Everything that a leaderboard shows, before it becomes a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.ledger import Failure, RunPaths
from elmo_bench.reporting.figures import Drawing
from elmo_bench.reporting.gains import gains_from
from elmo_bench.reporting.groups import Group, groups
from elmo_bench.reporting.layouts.runs import listed
from elmo_bench.reporting.rows import Selection
from elmo_bench.reporting.sections import Section, sections
from elmo_bench.reporting.table import Table
from elmo_bench.reporting.tasks import in_paper_order


@dataclass(frozen=True)
class Suite:
    """Everything of one suite."""

    name: str
    groups: list[Group]
    sections: list[Section]

    @property
    def listed(self) -> list[Group]:
        """The groups with a table of all runs."""
        return listed(self.groups)


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
) -> Leaderboard:
    """Compute every table and draw every figure that the ledger has records for; `combine`: see `groups`."""
    gain = gains_from(ledger)
    found = groups(selection.rows, combine=combine)
    order = in_paper_order({group.task for group in found})
    found.sort(key=lambda group: (group.suite, order.index(group.task)))
    suites = []
    for name in dict.fromkeys(group.suite for group in found):
        own = [group for group in found if group.suite == name]
        suites.append(Suite(name, own, sections(name, own, gain)))
    return Leaderboard(command, suites, selection, failures)
