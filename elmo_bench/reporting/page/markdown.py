"""The leaderboard as markdown: what a visitor of the repository sees first.

Records may come from strangers, so text that could be HTML, a link or an image is escaped. A discussion is not, since
people of this project write it.
"""

import re
from collections.abc import Iterable, Mapping

from elmo_bench.reporting.formats import to_markdown
from elmo_bench.reporting.leaderboard import Leaderboard, Section, Suite
from elmo_bench.reporting.page.explanations import (
    ENCODERS,
    HOW,
    LEGEND,
    SUITES,
    data_of,
    failed,
    machines,
    more_runs,
    superseded,
)

MOST = 50  # superseded runs that are listed


def markdown_page(board: Leaderboard, *, discussions: Mapping[str, str]) -> str:
    """The whole page. The same ledger, discussions (by suite) and command give the same text."""
    parts = [f"# Results\n\nRendered from the ledger by `{board.command}`. Do not edit: the next report overwrites it."]
    if board.suites:
        parts.append(
            "[index.html](index.html) has the same tables to sort and filter, with each number linked to its record. "
            "`tables/` contains each table as CSV and LaTeX, `figures/` each figure."
        )
    else:
        parts.append("The ledger has no finished runs of these suites yet.")
    for suite in board.suites:
        parts += _suite(suite, discussions.get(suite.name, ""))
    if board.suites:
        records = [record for row in board.selection.rows for record in row.records]
        parts += ["## How to read this", _list(HOW), "## Made on", _list(map(escape, machines(records)))]
    if board.selection.superseded:
        lines = [f"{_code(path)} {escape(why)}" for path, why in map(superseded, board.selection.superseded)]
        text = "Data, weights or a version have changed since. `elmo-bench clean --stale` removes these runs."
        rest = [f"{len(lines) - MOST:,} more: see [index.html](index.html)."] if len(lines) > MOST else []
        parts += ["## Superseded", text, _list(lines[:MOST]), *rest]
    if board.failures:
        lines = [f"{_code(path)} ({when}): {_code(why)}" for path, when, why in failed(board.failures)]
        parts += ["## Failed", _list(lines)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """One line of literal text: no HTML, links or images."""
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"[\r\n]+", " ", text))
    return re.sub(r"\\*([\[\]])", r"\\\1", text)


def _suite(suite: Suite, discussion: str) -> list[str]:
    parts = [f"## Suite {suite.name}", " ".join(filter(None, [SUITES.get(suite.name, ""), ENCODERS]))]
    for section in suite.sections:
        parts += _section(section)
        if section is suite.sections[0] and discussion:
            parts += ["### What the figures show", discussion.strip()]
    data = [escape(line) for group in suite.listed for line in data_of(group)]
    return [*parts, *([_list(data)] if data else [])]


def _section(section: Section) -> list[str]:
    drawings = [f"![{escape(figure.alt)}](figures/{figure.stem}.svg)" for figure in section.figures]
    tables = []
    for table in section.tables:
        shown = "\n".join(map(escape, to_markdown(table).split("\n")))
        lines = [f"**{escape(table.title)}**", shown, *map(escape, table.notes)]
        if table.folded:
            lines.append(f"{more_runs(len(table.folded))}: [CSV](tables/{table.stem}.csv).")
        tables.append("\n\n".join(lines))
    start = [f"### {section.heading}", section.about]
    if section.legend:
        return [*start, *tables[:1], LEGEND, *drawings, *tables[1:]]
    return [*start, *drawings, *tables]


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
