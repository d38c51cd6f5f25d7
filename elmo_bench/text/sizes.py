"""How much of a user's file is read.

A small file may unpack to much, and tiny rows take much memory.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.reading import reader

# Bytes of a file, and characters of an unpacked one; more takes more memory than a run
# should.
LARGEST = 2**30
MOST_ROWS = 2_000_000  # of CSV and JSON: a row takes 240 bytes and more
# A cell takes 32 bytes and more; of JSON and column files too.
MOST_CELLS = 30_000_000


class Sizes:
    """Counts the rows and the cells of a file."""

    def __init__(self, path: Path):
        self.path = path
        self.rows = 0
        self.cells = 0

    def add(self, cells: int, *, rows: int = 1, line: int | None = None) -> None:
        """Count a row with this number of cells.

        Raises UserError if the file has too many.
        """
        self.rows += rows
        self.cells += cells
        where = f"{self.path}" if line is None else f"{self.path}:{line}"
        if self.rows > MOST_ROWS:
            raise _too_many(where, MOST_ROWS, "rows")
        if self.cells > MOST_CELLS:
            raise _too_many(where, MOST_CELLS, "cells")


def _too_many(where: str, most: int, what: str) -> UserError:
    return UserError(f"{where}: more than {most:,} {what}. Take a part of the file.")


@reader
def lines_of(path: Path, *, crlf: bool = True) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers. crlf: whether CRLF is usual.

    Raises UserError, also for a large file.
    """
    size = 0
    for number, line in read_lines(path, crlf=crlf):
        size += len(line)
        if size > LARGEST:
            most = f"more than {LARGEST:,} characters"
            raise UserError(f"{path}:{number}: {most}. Take a part of the file.")
        yield number, line


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise UserError if two columns have one name."""
    for name, count in Counter(names).items():
        if count > 1:
            what = f"two columns are named {name!r:.60}"
            raise UserError(f"{path}: {what}. Rename one.")
