"""Column files: one token a line, cells separated by spaces or tabs, a blank line after each sentence."""

import re
from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.reading import reader

Row = tuple[int, list[str]]  # line number from 1, cells


@reader
def read_columns(path: Path, *, columns: int | None = None, boundary: str | None = None) -> Iterator[list[Row]]:
    """The sentences of a file, each a list of rows; empty sentences are skipped.

    Every row has `columns` cells (None: as many as the first row, at least two). Only spaces and tabs separate cells,
    so a token may contain other white space, such as a no-break space. A line whose first cell is `boundary` ends a
    sentence and is skipped. Raises UserError with file and line.
    """
    rows: list[Row] = []
    for number, line in read_lines(path):
        text = line.strip(" \t")
        cells = re.split(r"[ \t]+", text) if text else []
        if cells and cells[0] != boundary:
            columns = columns or max(2, len(cells))
            if len(cells) != columns:
                raise UserError(f"{path}:{number}: expected {columns} columns, found {len(cells)}. Fix this line.")
            rows.append((number, cells))
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows


def check_ended(path: Path) -> None:
    """Raise UserError if an uncompressed file is empty or lacks its last newline, which means that it was cut off."""
    with path.open("rb") as handle:
        size = handle.seek(0, 2)
        handle.seek(max(size - 1, 0))
        last = handle.read(1)
    if not last:
        raise UserError(f"{path}: the file is empty. Download it again.")
    if last != b"\n":
        number = sum(1 for _ in read_lines(path))
        raise UserError(f"{path}:{number}: the last line has no end, so the file may be cut off. Download it again.")
