"""The leaderboard as markdown: what a visitor of the repository sees first."""

from collections.abc import Mapping

from elmo_bench.reporting.formats import to_markdown
from elmo_bench.reporting.gains import LEGEND
from elmo_bench.reporting.leaderboard import Leaderboard, Section, Suite
from elmo_bench.reporting.page.words import ENCODERS, HOW, SUITES, data_of, failed, machines, superseded


def page(board: Leaderboard, *, discussions: Mapping[str, str]) -> str:
    """The whole page; the same ledger, discussions (by suite) and command give the same text."""
    parts = [f"# Results\n\nRendered from the ledger by `{board.command}`; edits made here are lost."]
    if board.suites:
        parts += [
            "The same with tables to sort and filter, each number linked to its record: [index.html](index.html). The "
            "tables as CSV and LaTeX: `tables/`; the figures: `figures/`."
        ]
    else:
        parts.append("The ledger holds no finished runs of these suites yet.")
    for suite in board.suites:
        parts += _suite(suite, discussions.get(suite.name, ""))
    if board.suites:
        parts += ["## How to read this", _list(HOW)]
        records = [record for row in board.selection.rows for record in row.records]
        parts += ["## Made on", _list(machines(records))]
    if board.selection.stale:
        parts += [
            "## Superseded",
            "Weights, data or the task's version changed since; `python -m elmo_bench clean --stale` removes them.",
            _list([f"`{name}` {why}" for name, why in (superseded(*pair) for pair in board.selection.stale)]),
        ]
    if board.failures:
        told = [failed(*pair) for pair in board.failures]
        parts += ["## Failed", _list([f"`{name}` ({when}): `{reason}`" for name, when, reason in told])]
    return "\n\n".join(parts) + "\n"


def _suite(suite: Suite, discussion: str) -> list[str]:
    parts = [f"## Suite {suite.name}", " ".join(filter(None, [SUITES.get(suite.name, ""), ENCODERS]))]
    for section in suite.sections:
        parts += _section(section)
        if section is suite.sections[0] and discussion:
            parts += ["### What the figures show", discussion.strip()]
    data = [line for group in suite.groups if group.whole for line in data_of(group)]
    return [*parts, *([_list(data)] if data else [])]


def _section(section: Section) -> list[str]:
    parts = [f"### {section.title}", *([section.about] if section.about else [])]
    drawings = [f"![{figure.alt}](figures/{figure.stem}.svg)" for figure in section.figures]
    tables = [f"**{table.title}**\n\n{to_markdown(table)}" for table in section.tables]
    if section.name != "glance":
        return [*parts, *drawings, *tables]
    return [*parts, *tables[:1], LEGEND, *drawings, *tables[1:]]


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
