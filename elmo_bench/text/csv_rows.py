"""The rows of a user's CSV or TSV file. Imports no torch.

Cells stay as they are written: no number, date or missing value is guessed.
"""

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.files import LONGEST_LINE, open_text
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader, reading
from elmo_bench.text.sizes import LARGEST, Sizes, check_names, lines_of

Row = dict[str, Any]  # cell by column
NumberedRow = tuple[int, list[str]]  # the line that it begins in, its cells
_SEPARATOR = re.compile(r"(?i)sep=([,;|\t])\s*")  # Excel's first line
# Without backtracking, for which the parts of a long cell would be kept.
_QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
# A whole cell in quotes, and a cell that begins in quotes.
_WHOLE_CELL = re.compile(r'(^|[,;\t])"(?:[^"]++|"")*+"(?=[,;\t\r\n]|$)')
_SPACED = re.compile(r'\s+"')  # begins a cell whose mark opens no quoted cell
_OPEN_CELL = re.compile(r'(^|[,;\t])"')
LOOKED_AT = 10  # rows that show whether the names of the columns were read rightly
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


def rows_of_csv(path: Path, ending: str, *, marks_are_text: bool = False) -> list[Row]:
    """The rows of a file; `ending` is .csv or .tsv.

    marks_are_text: a tab-separated file of the same data has quotation marks that are
    text (see `Marks`), so that those of this file are text where they may be. Raises
    UserError, with the line where there is one.
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
    if separator == "\t":
        marks = marks_of(path)
        if marks.are_text or (marks_are_text and marks.may_be_text):
            quoting = csv.QUOTE_NONE
        marks.note_text(path, by_others=marks_are_text)
    lines = chain(["\n", *start[1:]] if named else start, lines)
    sizes = Sizes(path)
    every_row = _cells(path, lines, separator, quoting, sizes)
    _, header = next(_filled(every_row), (1, []))
    names = [name.strip() for name in header]
    has_one = len(names) == 1
    rows = _with_blank(every_row, sizes) if has_one else _filled(every_row)
    # Excel and pandas leave columns without a name, which nobody can choose.
    unnamed = names.count("") > 1
    used = [place for place, name in enumerate(names) if name or not unnamed]
    check_names(path, [names[place] for place in used])

    first_rows = [*islice(rows, LOOKED_AT)]
    counts = {len(cells) for _, cells in first_rows}
    misread = len(counts) == 1 and len(names) not in counts

    def row(start: int, cells: list[str]) -> Row:
        if len(cells) != len(names):
            what = f"{len(cells)} cells in {len(names)} columns"
            how = "Fix this row"
            if any(_SPACED.match(cell) for cell in cells):
                how = "Remove the space before a quotation mark that opens a cell"
            elif misread or has_one:
                read = f"{', '.join(names):.60}, separated by {separator!r}"
                rule = "The first line must have the names, between , ; or tabs"
                if has_one:
                    rule += f"; a cell with {separator!r} inside must be in quotes"
                how = f"The columns were read as {read}. {rule}"
            raise UserError(f"{path}:{start}: {what}. {how}.")
        return {names[place]: cells[place] for place in used}

    return every(chain(first_rows, rows), row)


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
    path: Path, lines: Iterable[str], separator: str, quoting: Any, sizes: Sizes
) -> Iterator[NumberedRow]:
    """(the line that a row begins in, its cells) of each row; [] of a blank line.

    Raises UserError.
    """
    csv.field_size_limit(LARGEST)
    table = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
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


def _filled(rows: Iterable[NumberedRow]) -> Iterator[NumberedRow]:
    """Those of some rows that have cells."""
    return (row for row in rows if row[1])


def _with_blank(rows: Iterable[NumberedRow], sizes: Sizes) -> Iterator[NumberedRow]:
    """The rows of one column, where a blank line is an empty cell; not at the end.

    Raises UserError for too many.
    """
    blank = 0
    for start, cells in rows:
        if not cells:
            blank += 1
            continue
        for _ in range(blank):
            sizes.add(1, line=start)
            yield start, [""]
        blank = 0
        yield start, cells


@dataclass(frozen=True)
class Marks:
    """The cells of a tab-separated file that begin with a quotation mark.

    They are text in files written without quoting: each line has as many cells as the
    first, two or more, and a cell begins with a mark without being quoted as a whole. A
    reader of quoted cells would join such lines. Where all names of the columns are
    quoted, cells are, too, and nobody needs to ask.
    """

    is_rows: bool  # each line may be a row without quoting
    bare: Sequence[int] = ()  # lines with such a cell that is not quoted as a whole
    whole: Sequence[int] = ()  # lines with a cell that is quoted as a whole
    doubled: bool = False  # such a cell has doubled marks inside

    @property
    def are_text(self) -> bool:
        """Whether the file shows that its marks are text."""
        return self.is_rows and bool(self.bare)

    @property
    def may_be_text(self) -> bool:
        """Whether the file does not show that its marks quote cells."""
        return self.is_rows and not self.doubled

    def note_text(self, path: Path, *, by_others: bool) -> None:
        """Note that marks are text, by this file or by others of the same data."""
        what = "quotation marks are text here and each line is a row"
        if self.are_text:
            why = "since a cell begins with a mark and does not end so"
            note(f"{what}, {why}: {_lines(self.bare)}", path)
        elif by_others and self.may_be_text and self.whole:
            why = "as in another file of these data"
            note(f"{what}, {why}: {_lines(self.whole)}", path)


def marks_of(path: Path) -> Marks:
    """What the quotation marks of a tab-separated file are. Raises UserError."""
    count = 0  # cells of a line
    bare: list[int] = []
    whole: list[int] = []
    doubled = False
    for number, line in enumerate(_pieces(path), 1):
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if not count and all(map(_QUOTED.fullmatch, cells)):
            return Marks(is_rows=False)
        count = count or len(cells)
        if len(cells) != count or count < 2:
            return Marks(is_rows=False)
        if '"' not in line:
            continue
        if any(_is_bare(cell) for cell in cells):
            bare.append(number)
        quoted = [cell for cell in cells if _QUOTED.fullmatch(cell)]
        if quoted:
            whole.append(number)
        doubled = doubled or any('""' in cell[1:-1] for cell in quoted)
    return Marks(is_rows=True, bare=bare, whole=whole, doubled=doubled)


def note_quoted(path: Path) -> None:
    """Note the quoted cells of a tab-separated file whose marks may be text, too."""
    marks = marks_of(path)
    if marks.whole and marks.may_be_text and not marks.are_text:
        what = "quotation marks around a whole cell are left out"
        note(f"{what}: {_lines(marks.whole)}", path)


def _lines(numbers: Sequence[int]) -> str:
    """The first of some lines, and how many more there are."""
    more = f" and {len(numbers) - 1:,} more" if len(numbers) > 1 else ""
    return f"line {numbers[0]:,}{more}"


def _is_bare(cell: str) -> bool:
    """Whether a cell begins with a quotation mark and is not quoted as a whole."""
    return cell.startswith('"') and not _QUOTED.fullmatch(cell)
