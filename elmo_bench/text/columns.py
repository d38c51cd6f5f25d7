"""Files of columns: a token a line, cells parted by spaces or tabs, a blank line after each sentence."""

import re
from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines

Row = tuple[int, list[str]]  # line number from 1, cells


def read_columns(path: Path, *, columns: int | None = None, boundary: str | None = None) -> Iterator[list[Row]]:
    """The sentences of a file, each the list of its rows; empty sentences are left out.

    Every row has `columns` cells (None: two or more, all rows as many as the first). Only spaces and tabs part cells: a
    token may hold other white space (a no-break space, say). A line whose first cell is `boundary` ends a sentence and
    is dropped. Raises UserError, with file and line.
    """
    rows: list[Row] = []
    for number, line in read_lines(path):
        text = line.strip(" \t")
        cells = re.split(r"[ \t]+", text) if text else []
        if cells and cells[0] != boundary:
            columns = columns or max(2, len(cells))
            if len(cells) != columns:
                raise UserError(f"{path}:{number}: expected {columns} columns, found {len(cells)}; mend this line")
            rows.append((number, cells))
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows


def check_ended(path: Path) -> None:
    """Raises UserError where a plain file is empty or its last line has no end: the marks of a cut."""
    with path.open("rb") as handle:
        size = handle.seek(0, 2)
        handle.seek(max(size - 1, 0))
        last = handle.read(1)
    if not last:
        raise UserError(f"{path}: the file is empty; fetch it again")
    if last != b"\n":
        number = sum(1 for _ in read_lines(path))
        raise UserError(f"{path}:{number}: the last line has no end, so the file may be cut off; fetch it again")
