"""How much of a user's file is read.

A small file may unpack to much, and tiny rows take much memory.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.reading import reader

# Bytes of a file, and characters of an unpacked one; more takes more memory than a run
# should.
LARGEST = 2**30
MOST_ROWS = 2_000_000  # of CSV and JSON: a row takes 240 bytes and more
MOST_ROWS_OF_ALL = 5_000_000  # of all files of a run; so many a Parquet file may have
# A cell takes 32 bytes and more; of JSON and column files too.
MOST_CELLS = 30_000_000
Row = dict[str, Any]  # cell by column


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


class Total:
    """Counts the rows, cells and characters of all files of a run."""

    def __init__(self) -> None:
        self.rows = 0
        self.cells = 0
        self.characters = 0

    def counted(self, path: Path, rows: list[Row]) -> list[Row]:
        """The rows of a file, which are counted.

        Raises UserError if the files so far have more than one file may have.
        """
        self.rows += len(rows)
        for row in rows:
            self.cells += len(row)
            self.characters += sum(map(_characters, row.values()))
        counts = {
            "rows": (self.rows, MOST_ROWS_OF_ALL),
            "cells": (self.cells, MOST_CELLS),
            "characters": (self.characters, LARGEST),
        }
        for what, (count, most) in counts.items():
            if count > most:
                raise UserError(
                    f"{path}: with the files before it, more than {most:,} {what}. "
                    "Take a part of the files."
                )
        return rows


def _characters(cell: Any) -> int:
    """The characters of a text, or of the texts of a list."""
    texts = cell if isinstance(cell, list) else [cell]
    return sum(len(text) for text in texts if isinstance(text, str))


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
