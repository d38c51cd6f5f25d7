"""The rows of a user's CSV or TSV file. Imports no torch.

Cells stay as they are written: no number, date or missing value is guessed.
"""

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.files import LONGEST_LINE, open_text
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader, reading
from elmo_bench.text.sizes import LARGEST, Sizes, check_names, lines_of

Row = dict[str, Any]  # cell by column
_SEPARATOR = re.compile(r"(?i)sep=([,;|\t])\s*")  # Excel's first line
# Without backtracking, for which the parts of a long cell would be kept.
_QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
# A whole cell in quotes, and a cell that begins in quotes.
_WHOLE_CELL = re.compile(r'(^|[,;\t])"(?:[^"]++|"")*+"(?=[,;\t\r\n]|$)')
_OPEN_CELL = re.compile(r'(^|[,;\t])"')
# Lines and characters in which the names of the columns end.
MOST_BREAKS = 100
LONGEST_NAMES = 2**20


@dataclass(frozen=True)
class CsvForm:
    """How a CSV or TSV file is written."""

    separator: str
    mark: str = ""  # a byte order mark, at the start
    end: str = "\n"  # of a line
    named: bool = False  # the first line is Excel's `sep=;`

    @property
    def start(self) -> str:
        """What comes before the names of the columns."""
        first = f"sep={self.separator}{self.end}" if self.named else ""
        return self.mark + first


@reader
def form_of_csv(path: Path, ending: str) -> CsvForm:
    """The form of a file that `rows_of_csv` reads; `ending` is .csv or .tsv."""
    first = _first_row(_pieces(path))
    with reading(path, "a text file"), open_text(path) as file:
        raw = b"".join(file.readline(LONGEST_LINE) for _ in first)
    named = _SEPARATOR.fullmatch(first[0])
    if b"\r" in raw and b"\n" not in raw:
        end = "\r"
    else:
        end = "\r\n" if raw.endswith(b"\r\n") else "\n"
    return CsvForm(
        separator=named[1] if named else separator_of(first, ending),
        mark=codecs.BOM_UTF8.decode() if raw.startswith(codecs.BOM_UTF8) else "",
        end=end,
        named=named is not None,
    )


def rows_of_csv(path: Path, ending: str) -> list[Row]:
    """The rows of a file; `ending` is .csv or .tsv.

    Raises UserError, with the line where there is one.
    """
    lines = _pieces(path)
    start = _first_row(lines)
    first = start[0]
    if not first.strip():
        what = "It must have the names of the columns"
        raise UserError(f"{path}: the first line is empty. {what}.")
    named = _SEPARATOR.fullmatch(first)
    separator = named[1] if named else separator_of(start, ending)
    if separator != "," and ending == ".csv":
        note(f"columns are separated by {separator!r}", path)
    quoting = csv.QUOTE_MINIMAL
    has_quotes = all(map(_QUOTED.fullmatch, first.rstrip("\r\n").split("\t")))
    if separator == "\t" and not has_quotes and _has_bare_quotes(path):
        quoting = csv.QUOTE_NONE
    lines = chain(["\n", *start[1:]] if named else start, lines)
    rows = _cells(path, lines, separator, quoting)
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    # Excel and pandas leave columns without a name, which nobody can choose.
    unnamed = names.count("") > 1
    used = [place for place, name in enumerate(names) if name or not unnamed]
    check_names(path, [names[place] for place in used])

    def row(start: int, cells: list[str]) -> Row:
        if len(cells) != len(names):
            what = f"{len(cells)} cells in {len(names)} columns"
            raise UserError(f"{path}:{start}: {what}. Fix this row.")
        return {names[place]: cells[place] for place in used}

    return every(rows, row)


def _first_row(pieces: Iterator[str]) -> list[str]:
    """The lines of the first row, whose cells in quotes may have breaks.

    If no quotation mark ends such a cell soon, the lines up to there.
    """
    row = [next(pieces, "")]
    length = len(row[0])
    is_open = _OPEN_CELL.search(_unquoted(row[0]))
    while is_open and len(row) <= MOST_BREAKS and length <= LONGEST_NAMES:
        piece = next(pieces, "")
        if not piece:
            break
        row.append(piece)
        length += len(piece)
        if '"' in piece:
            is_open = _OPEN_CELL.search(_unquoted("".join(row)))
    return row


def _unquoted(row: str) -> str:
    """A row without the cells that are in quotes."""
    return _WHOLE_CELL.sub(r"\1", row)


def separator_of(row: Sequence[str], ending: str) -> str:
    """What separates the columns, by the first row without what is in quotes."""
    if ending == ".tsv":
        return "\t"
    names = _unquoted("".join(row))
    if _OPEN_CELL.search(names):
        names = _unquoted(row[0])
    return max(",;\t", key=names.count)


def _pieces(path: Path) -> Iterator[str]:
    """The lines of a CSV file with their ends.

    A CR alone ends a line, too, as in files of old programs.
    """
    for _, line in lines_of(path):
        *before, last = line.split("\r")
        for piece in before:
            yield f"{piece}\r"
        yield f"{last}\n"


def _cells(
    path: Path, lines: Iterable[str], separator: str, quoting: Any
) -> Iterator[tuple[int, list[str]]]:
    """(the line that a row begins in, its cells) of each row that has cells.

    Raises UserError.
    """
    csv.field_size_limit(LARGEST)
    table = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
    sizes = Sizes(path)
    start = 1
    try:
        for cells in table:
            if cells:
                sizes.add(len(cells), line=start)
                yield start, cells
            start = table.line_num + 1
    except csv.Error as error:
        what = f"not a row of a table ({error})"
        raise UserError(
            f"{path}:{start}: {what}. Fix the quotes of this row."
        ) from None


def _has_bare_quotes(path: Path) -> bool:
    """Whether a quotation mark of a tab-separated file is part of the text.

    So it is in files written without quoting: each line has as many cells as the first,
    two or more, and a cell begins with a mark without being quoted as a whole. A reader
    of quoted cells would join such lines. It is noted. Where all names of the columns
    are quoted, cells are, too, and nobody needs to ask.
    """
    count = 0  # cells of a line
    bare: list[int] = []  # the lines with such a cell
    for number, line in enumerate(_pieces(path), 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split("\t")
        count = count or len(cells)
        if len(cells) != count or count < 2:
            return False
        if any(_is_bare(cell) for cell in cells):
            bare.append(number)
    if bare:
        what = "quotation marks are text here and each line is a row"
        why = "since a cell begins with a mark and does not end so"
        more = f" and {len(bare) - 1:,} more" if len(bare) > 1 else ""
        note(f"{what}, {why}: line {bare[0]:,}{more}", path)
    return bool(bare)


def _is_bare(cell: str) -> bool:
    """Whether a cell begins with a quotation mark and is not quoted as a whole."""
    return cell.startswith('"') and not _QUOTED.fullmatch(cell)
