"""Notes: lines that a reader of the scores must know.

They are printed once and are part of the record.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from elmo_bench.base.errors import name_text, plain, redacted
from elmo_bench.base.progress import console

SHOWN = 20  # problems of a ledger that a command prints
# (printed lines, notes) of the process, then of each open block.
_blocks: list[tuple[set[str], list[str]]] = [(set(), [])]


def note(text: str, where: Path | None = None) -> None:
    """Print, once, a line that a reader of the scores must know.

    `where` is the file that it is about. The note has the file without its folders, as
    a record contains no path of the machine that made it.
    """
    text = name_text(redacted(text))  # it may have the names of files
    line = f"{where}: {text}" if where else text
    printed, notes = _blocks[-1]
    if line in printed:
        return
    printed.add(line)
    notes.append(f"{name_text(where.name)}: {text}" if where else text)
    console.print(line, highlight=False, markup=False)


@contextmanager
def noted() -> Iterator[list[str]]:
    """The notes of this block, as they come."""
    notes: list[str] = []
    _blocks.append((set(), notes))
    try:
        yield notes
    finally:
        _blocks.pop()


def print_problems(command: str, problems: Sequence[str]) -> None:
    """Print the first problems of a ledger on stderr, a line each.

    The last line counts the problems that are not printed.
    """
    lines = list(problems[:SHOWN])
    if len(problems) > SHOWN:
        count = len(problems) - SHOWN
        lines.append(f"and {count:,} more (elmo-bench check LEDGER lists them)")
    for line in lines:
        print(f"elmo-bench {command}: {plain(line)}", file=sys.stderr)
