"""Findings: claims that people write around numbers of the tables, so that no text can
differ from the records.

`FINDINGS-<suite>.md` has the text. `findings_<suite>.py` in the same folder has a
function for each finding, which asserts what the text claims and returns its numbers.
docs/report.md describes both. The functions are code of whoever wrote the folder,
so they run only if the user names that folder.
"""

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.reporting.tables import Table, checked_rows

KEYS = ("claim", "figure", "runs")
_LINK = re.compile(r"\[([^\[\]]*)\]\(#run-[^)]*\)")
# The frames of tables, by their stems without the suite; only rows whose scores are
# checked.
Tables = Mapping[str, pd.DataFrame]
Claim = Callable[[Tables], Mapping[str, str]]


@dataclass(frozen=True)
class Finding:
    """One claim, in Markdown."""

    name: str
    figures: tuple[str, ...]  # their stems
    linked: str  # each number with a link to its run

    @property
    def text(self) -> str:
        """Without these links, for another page."""
        return _LINK.sub(r"\1", self.linked)


@dataclass(frozen=True)
class Findings:
    """The findings of a suite today."""

    shown: list[Finding] = field(default_factory=list)
    # by name: what makes the missing runs
    waiting: dict[str, str] = field(default_factory=dict)
    untrue: list[str] = field(
        default_factory=list
    )  # a line for each finding whose claim no longer holds


def linked(text: str, anchor: str) -> str:
    """A number of a finding, as Markdown with a link to the run at this address of the
    page.
    """
    return f"[{text}](#{anchor})"


def points(row: Any, column: str = "gain") -> str:
    """A number of a row with one decimal and without its sign, linked to its run."""
    return linked(f"{abs(row[column]):.1f}", row["anchor"])


def findings_file(folder: Path, suite: str) -> Path:
    """The file with the text of a suite's findings, which need not exist."""
    return folder / f"FINDINGS-{suite}.md"


def read_findings(folder: Path, suite: str, tables: Sequence[Table]) -> Findings:
    """What the folder says of a suite; nothing if it has no text for it. Runs the
    claims.

    Raises UserError for a mistake in the text or in a claim, with the name of the
    finding.
    """
    path = findings_file(folder, suite)
    code = folder / f"findings_{suite}.py"
    result = Findings()
    if not path.exists():
        return result
    frames = {}
    for table in tables:
        stem = table.stem.removeprefix(f"{suite}-")
        frames[stem] = table.frame[checked_rows(table.frame)]
    module = _module(code)
    text = "\n".join(line for _, line in read_lines(path))
    # what comes first is for writers
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        keys, body = _keys_and_body(path, name, part)
        claim = _claim(module, code, keys["claim"])
        try:
            numbers = claim(frames)
        except AssertionError as error:
            result.untrue.append(
                f"{path}: {name} is left out, as this does not hold: {_asserted(error)}"
            )
        except (KeyError, IndexError):  # no such table or row yet
            result.waiting[name] = keys["runs"]
        except Exception as error:
            raise UserError(
                f"{code}: {keys['claim']}: {type(error).__name__}: {error}. Correct it."
            ) from None
        else:
            figures = tuple(keys["figure"].split())
            result.shown.append(
                Finding(name, figures, _filled(path, name, body, numbers))
            )
    return result


def _keys_and_body(path: Path, name: str, part: str) -> tuple[dict[str, str], str]:
    head, _, body = part.strip().partition("\n\n")
    keys = {}
    for line in head.splitlines():
        key, _, value = line.partition(":")
        keys[key] = value.strip()
    if keys.keys() != set(KEYS):
        raise UserError(
            f"{path}: {name}: the lines below its name are {', '.join(KEYS)}, "
            "then an empty one."
        )
    return keys, body


def _module(path: Path) -> ModuleType:
    """The claims, by running the file. Python's cache of compiled files is not used,
    since it would be in the same folder.
    """
    if not path.is_file():
        raise UserError(
            f"{path}: no such file. It has the claims of the findings beside it: "
            "docs/report.md."
        )
    module = ModuleType(path.stem)
    try:
        # optimize=0: `python -O` would leave out the asserts, and every claim would
        # hold.
        code = compile(path.read_bytes(), str(path), "exec", optimize=0)
        exec(code, module.__dict__)
    except Exception as error:
        raise UserError(
            f"{path}: {type(error).__name__}: {error}. Correct it."
        ) from None
    return module


def _claim(module: ModuleType, code: Path, name: str) -> Claim:
    claim = getattr(module, name, None)
    if not callable(claim):
        raise UserError(
            f"{code}: has no function {name}, which its finding names. "
            f"Write: def {name}(tables): …"
        )
    return claim


def _asserted(error: AssertionError) -> str:
    """The line of the assert that failed."""
    return str(traceback.extract_tb(error.__traceback__)[-1].line).removeprefix(
        "assert "
    )


def _filled(path: Path, name: str, body: str, numbers: Mapping[str, str]) -> str:
    """The text with its numbers."""

    def number(placeholder: re.Match[str]) -> str:
        if placeholder[1] not in numbers:
            raise UserError(
                f"{path}: {name}: {placeholder[0]} is not among the numbers that its "
                "claim returns."
            )
        return numbers[placeholder[1]]

    return re.sub(r"\{(\w+)\}", number, body)
