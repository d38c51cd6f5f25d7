"""CoNLL-U files of Universal Dependencies: ten columns, a word a line, a blank line after each sentence."""

from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.reading import reader

COLUMNS = 10
ID, FORM, XPOS, HEAD, DEPREL = 0, 1, 4, 6, 7
Row = tuple[int, list[str]]  # line number from 1, cells


@reader
def read_conllu(path: Path) -> Iterator[list[Row]]:
    """The words of each sentence; empty sentences are skipped.

    Only words with whole numbers, neither ranges (`3-4`) nor words that are only understood (`8.1`), as every reader of
    UD does. Raises UserError with file and line.
    """
    rows: list[Row] = []
    for number, line in read_lines(path):
        cells = line.split("\t")
        if not line.strip():
            if rows:
                yield rows
            rows = []
        elif line.startswith("#"):
            continue
        elif len(cells) != COLUMNS:
            raise UserError(f"{path}:{number}: expected {COLUMNS} columns, found {len(cells)}. Fix this line.")
        elif cells[ID].isdecimal():
            rows.append((number, cells))
    if rows:
        yield rows
