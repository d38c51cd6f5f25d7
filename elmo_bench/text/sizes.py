"""How much of a file of the user's own is read: a small file may unpack to much, and tiny rows take much memory."""

from pathlib import Path

from elmo_bench.base.errors import UserError

LARGEST = 2**30  # bytes of a file, and characters of an unpacked one; more takes more memory than a run should
MOST_ROWS = 2_000_000  # of CSV and JSON: a row takes 240 bytes and more
MOST_CELLS = 30_000_000  # a cell takes 32 bytes and more; of JSON and column files too


class Sizes:
    """Counts the rows and the cells of a file."""

    def __init__(self, path: Path):
        self.path, self.rows, self.cells = path, 0, 0

    def add(self, cells: int, *, rows: int = 1, line: int | None = None) -> None:
        """Count a row with this number of cells. Raises UserError if the file has too many."""
        self.rows += rows
        self.cells += cells
        for count, most, what in ((self.rows, MOST_ROWS, "rows"), (self.cells, MOST_CELLS, "cells")):
            if count > most:
                where = self.path if line is None else f"{self.path}:{line}"
                raise UserError(f"{where}: more than {most:,} {what}. Take a part of the file.")
