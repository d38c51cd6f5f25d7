"""What reading data had to decide, such as items left out: said on standard error, and kept for the record."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elmo_bench.base.progress import console

_kept: list[dict[str, str]] = [{}]  # what was said: as the record keeps it; of the process, then of each open block


def note(text: str, where: Path | None = None) -> None:
    """Say, once, a line that a reader of the scores must know; `where` is the file that it is about.

    What is kept names the file without its folders: a record holds no path of the machine that it was made on.
    """
    line = f"{where}: {text}" if where else text
    if line not in _kept[-1]:
        _kept[-1][line] = f"{where.name}: {text}" if where else text
        console.print(line, highlight=False, markup=False)


@contextmanager
def noted() -> Iterator[list[str]]:
    """What is noted while the block runs, filled when it ends."""
    notes: list[str] = []
    _kept.append({})
    try:
        yield notes
    finally:
        notes += _kept.pop().values()
