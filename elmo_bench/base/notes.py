"""Notes: lines that a reader of the scores must know, printed once and kept in the record."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from elmo_bench.base.errors import plain, redacted
from elmo_bench.base.progress import console

SHOWN = 20  # problems of a ledger that a command prints
_kept: list[tuple[set[str], list[str]]] = [(set(), [])]  # printed lines, notes; of the process, then of each open block


def note(text: str, where: Path | None = None) -> None:
    """Print, once, a line that a reader of the scores must know; `where` is the file that it is about.

    The record keeps it without the file's folders, as a record contains no path of the machine that made it.
    """
    text = redacted(text)
    line = f"{where}: {text}" if where else text
    printed, notes = _kept[-1]
    if line not in printed:
        printed.add(line)
        notes.append(f"{where.name}: {text}" if where else text)
        console.print(line, highlight=False, markup=False)


@contextmanager
def noted() -> Iterator[list[str]]:
    """The notes of this block, as they come."""
    notes: list[str] = []
    _kept.append((set(), notes))
    try:
        yield notes
    finally:
        _kept.pop()


def print_problems(command: str, problems: Sequence[str]) -> None:
    """Print the first problems of a ledger on stderr, a line each, and how many more there are."""
    more = [f"and {len(problems) - SHOWN:,} more (elmo-bench check LEDGER lists them)"] * (len(problems) > SHOWN)
    for line in [*problems[:SHOWN], *more]:
        print(f"elmo-bench {command}: {plain(line)}", file=sys.stderr)
