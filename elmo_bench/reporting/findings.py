"""Findings: claims that people write around numbers of the tables, so that no text can differ from the records.

A finding begins with a line `## name`. Lines follow of `key: value`: `when`, the condition under which its claim is
true; `figure`, the stem of a figure of the page; and `runs`, the command that makes its runs. Then come Markdown
paragraphs: the claim in bold, at most three sentences, and a caveat. Numbers are placeholders of jinja2, such as
`{{ gain('ner') }}`; the condition and the placeholders have the functions of `_environment`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reading
from elmo_bench.reporting.rows import BASELINE
from elmo_bench.reporting.table import Cell, Table, Value

_KEYS = ("when", "figure", "runs")


class Missing(Exception):  # noqa: N818
    """The page has no such number yet."""


@dataclass(frozen=True)
class Shown:
    """A number as the page shows it; `value` is what conditions compare."""

    text: str
    value: Any
    run: str | None = None  # the anchor of its run, if it becomes a link

    def __str__(self) -> str:
        return f"[{self.text}](#{self.run})" if self.run else self.text


@dataclass(frozen=True)
class Finding:
    """One claim, in Markdown."""

    name: str
    figure: str
    text: str
    linked: str  # the same, each number with a link to its run


@dataclass(frozen=True)
class Findings:
    """What one file says today."""

    shown: list[Finding] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)  # by name: what makes the missing runs
    untrue: list[str] = field(default_factory=list)  # a line for each finding whose condition no longer holds


def findings(path: object, lines: Sequence[str], suite: str, tables: Sequence[Table]) -> Findings:
    """Fill the placeholders of a file. Raises UserError for a mistake in it, with the name of the finding."""
    result, by_stem = Findings(), {table.stem: table for table in tables}
    for name, given, text in _parted(path, lines):
        with reading(f"{path}: {name}", "a finding", "docs/leaderboard.md describes findings."):
            plain, linked = (_environment(suite, by_stem, link=link) for link in (False, True))
            try:
                if not plain.compile_expression(given["when"], undefined_to_none=False)():
                    result.untrue.append(f"{path}: {name} is left out, since this does not hold: {given['when']}")
                    continue
                texts = [each.from_string(text).render() for each in (plain, linked)]
            except Missing:
                result.waiting[name] = given["runs"]
            else:
                result.shown.append(Finding(name, given["figure"], *texts))
    return result


def _parted(path: object, lines: Sequence[str]) -> list[tuple[str, dict[str, str], str]]:
    """Name, keys and text of each finding. What comes before the first one is for writers."""
    parts = re.split(r"^## (.+)$", "\n".join(lines), flags=re.MULTILINE)[1:]
    parted = []
    for name, rest in zip(parts[::2], parts[1::2], strict=True):
        head, _, text = rest.strip().partition("\n\n")
        given = {key: value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
        if given.keys() != {*_KEYS}:
            raise UserError(f"{path}: {name}: the lines below its name are {', '.join(_KEYS)}, then an empty one.")
        parted.append((name.strip(), given, text.strip()))
    return parted


def _environment(suite: str, tables: Mapping[str, Table], *, link: bool) -> SandboxedEnvironment:
    """With the functions that findings may call. `encoder`, `over` and others name a row by the cell of that column."""

    def cells(stem: str, column: str, task: str = "", **where: Value) -> list[Cell]:
        table = tables.get(f"{suite}-{stem}") or Table(stem, "", [], [], [])
        rows = [
            dict(zip(table.columns, row, strict=True))
            for row, its in zip(table.rows, table.tasks, strict=True)
            if task in ("", its)
        ]
        kept = [row for row in rows if all(name in row and row[name].order == value for name, value in where.items())]
        shown = [row[column] for row in kept if column in row and row[column].text]
        if not shown:
            raise Missing
        return shown

    def at(*names: str, **where: Value) -> Shown:
        """The one cell of a table (by stem) and a column."""
        cell = cells(*names, **where)[0]
        return Shown(cell.text, cell.order, cell.run if link else None)

    def over(column: str) -> Callable[..., Shown]:
        return lambda task, ours="elmo", theirs=BASELINE: at("gains", column, task=task, encoder=ours, over=theirs)

    environment = SandboxedEnvironment(undefined=StrictUndefined)
    environment.globals |= {
        "at": at,
        "every": lambda *names, **where: [cell.order for cell in cells(*names, **where)],
        "score": lambda task, encoder="elmo": at("table1", encoder, task=task),
        "gain": over("gain"),
        "interval": over("95 %"),
        "fewer": over("fewer errors"),
        "verdict": lambda *names: over("verdict")(*names).value,
        "paper_gain": over("the paper's gain"),
        "paper_fewer": over("the paper's fewer errors"),
        "soon": lambda task, epoch, encoder="elmo": at("speed", f"epoch {epoch}", task=task, encoder=encoder),
        "late": lambda task, encoder="elmo": at("speed", "end", task=task, encoder=encoder),
        "points": lambda number: replace(number, text=f"{abs(number.value):.1f}"),
        "share": lambda part, whole: f"{100 * part.value / whole.value:.0f} %",
    }
    return environment
