"""Notes about the data, such as skipped items: printed to standard error and stored in the record."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elmo_bench.base.errors import redacted
from elmo_bench.base.progress import console

_kept: list[dict[str, str]] = [{}]  # printed line -> the note in the record; of the process, then of each open block


def note(text: str, where: Path | None = None) -> None:
    """Print, once, a line that a reader of the scores must know; `where` is the file that it is about.

    The record keeps it without the file's folders, as a record contains no path of the machine that made it.
    """
    text = redacted(text)
    line = f"{where}: {text}" if where else text
    if line not in _kept[-1]:
        _kept[-1][line] = f"{where.name}: {text}" if where else text
        console.print(line, highlight=False, markup=False)


@contextmanager
def noted() -> Iterator[list[str]]:
    """The notes of this block; the list is filled when the block ends."""
    notes: list[str] = []
    _kept.append({})
    try:
        yield notes
    finally:
        notes += _kept.pop().values()
