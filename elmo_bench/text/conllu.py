"""CoNLL-U files of Universal Dependencies: ten columns, a word a line, a blank line after each sentence."""

from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.base.reading import reader
from elmo_bench.text.columns import Row, sentences

COLUMNS = 10
ID, FORM, XPOS, HEAD, DEPREL = 0, 1, 4, 6, 7


@reader
def read_conllu(path: Path) -> Iterator[list[Row]]:
    """The words of each sentence; empty sentences are skipped.

    Only words with whole numbers, neither ranges (`3-4`) nor words that are only understood (`8.1`), as every reader of
    UD does. Raises UserError with file and line.
    """

    def rows() -> Iterator[Row]:
        for number, line in read_lines(path):
            cells = line.split("\t")
            if not line.strip():
                yield number, []
            elif line.startswith("#"):
                continue
            elif len(cells) != COLUMNS:
                raise UserError(f"{path}:{number}: expected {COLUMNS} columns, found {len(cells)}. Fix this line.")
            elif cells[ID].isdecimal():
                yield number, cells

    return sentences(rows())
