"""Findings: claims that people write around numbers of the tables, so that no text can differ from the records.

A finding begins with a line `## name`. Lines follow of `key: value`: `when`, the condition under which its claim is
true; `figure`, the stems of figures of the page; and `runs`, the command that makes its runs. Then come Markdown
paragraphs: the claim in bold, at most three sentences, and a caveat. Numbers are placeholders of jinja2, such as
`{{ gain('TASK') }}`; the condition and the placeholders have the functions of `_functions`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reading
from elmo_bench.reporting.rows import BASELINE, is_checked
from elmo_bench.reporting.table import REDUCTION, Cell, Table

KEYS = ("when", "figure", "runs")


class Missing(Exception):
    """The page has no such number yet."""


@dataclass(frozen=True)
class Number:
    """A number as the page shows it, with the anchor of its run; conditions compare its value."""

    text: str
    value: Any
    run: str | None

    def __str__(self) -> str:
        return f"[{self.text}](#{self.run})" if self.run else self.text


@dataclass(frozen=True)
class Finding:
    """One claim, in Markdown."""

    name: str
    figures: tuple[str, ...]  # their stems
    linked: str  # each number with a link to its run

    @property
    def text(self) -> str:
        """Without these links, for another page."""
        return re.sub(r"\[([^\[\]]*)\]\(#run-[^)]*\)", r"\1", self.linked)


@dataclass(frozen=True)
class Findings:
    """What one file says today."""

    shown: list[Finding] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)  # by name: what makes the missing runs
    untrue: list[str] = field(default_factory=list)  # a line for each finding whose condition no longer holds


def findings(path: object, text: str, suite: str, tables: Sequence[Table]) -> Findings:
    """Fill the placeholders of a file; what comes before its first finding is for writers.

    Raises UserError for a mistake in it, with the name of the finding.
    """
    result, environment = Findings(), SandboxedEnvironment(undefined=StrictUndefined)
    environment.globals |= _functions({table.stem.removeprefix(f"{suite}-"): table for table in tables})
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        head, _, body = part.strip().partition("\n\n")
        given = {key: value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
        if given.keys() != {*KEYS}:
            raise UserError(f"{path}: {name}: the lines below its name are {', '.join(KEYS)}, then an empty one.")
        with reading(f"{path}: {name}", "a finding", "docs/leaderboard.md describes findings."):
            try:
                if environment.compile_expression(given["when"], undefined_to_none=False)():
                    linked = environment.from_string(body).render()
                    result.shown.append(Finding(name, tuple(given["figure"].split()), linked))
                else:
                    result.untrue.append(f"{path}: {name} is left out, as this does not hold: {given['when']}")
            except Missing:
                result.waiting[name] = given["runs"]
    return result


def _functions(tables: Mapping[str, Table]) -> dict[str, Callable[..., Any]]:
    """Findings call these. A table has its stem without the suite; the values of other columns choose a row."""

    def cells(stem: str, column: str, **where: Any) -> list[Cell]:
        table = tables.get(stem) or Table(stem, "", [], [], [])
        pairs = zip(table.rows, table.tasks, strict=True)
        rows = [dict(zip(table.columns, row, strict=True)) | {"task": Cell(task)} for row, task in pairs]
        rows = [row for row in rows if not (task := row["task"].text) or is_checked(task)]
        kept = [row for row in rows if all(value in (row[key].text, row[key].order) for key, value in where.items())]
        shown = [row[column] for row in kept if column in row and row[column].text]
        if not shown:
            raise Missing
        return shown

    def at(*names: str, **where: Any) -> Number:
        cell = cells(*names, **where)[0]
        return Number(cell.text, cell.order, cell.run)

    def over(column: str) -> Callable[..., Number]:
        return lambda task, ours="elmo", theirs=BASELINE: at("gains", column, task=task, encoder=ours, over=theirs)

    return {
        "at": at,
        "every": lambda *names, **where: [cell.order for cell in cells(*names, **where)],
        "score": lambda task, encoder="elmo": at("table1", encoder, task=task),
        "gain": over("gain"),
        "interval": over("95 %"),
        "reduction": over(REDUCTION),
        "verdict": lambda *names: over("verdict")(*names).value,
        "paper_gain": over("the paper's gain"),
        "paper_reduction": over(f"the paper's {REDUCTION}"),
        "soon": lambda task, epoch, encoder="elmo": at("speed", f"epoch {epoch}", task=task, encoder=encoder),
        "late": lambda task, encoder="elmo": at("speed", "end", task=task, encoder=encoder),
        "points": lambda number: replace(number, text=f"{abs(number.value):.1f}"),
        "share": lambda part, whole: f"{100 * part.value / whole.value:.0f} %",
    }
