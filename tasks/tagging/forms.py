"""The forms of files of tagged sentences, whatever they are called: CoNLL-U, column files, tables.

The form is decided from all of a file. `data.columns=` decides instead: CONLLU, TABLE, or the numbers of the columns of
tokens and of tags, from 1, such as `2:4`.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.notes import note
from elmo_bench.base.sources import TABLES
from elmo_bench.tasks.ner.data import BOUNDARY
from elmo_bench.text.columns import NO_GOLD, cells_of, has_null_tag, unescaped
from elmo_bench.text.own_columns import USUAL
from elmo_bench.text.schemes import OUTSIDE, notation_of
from elmo_bench.text.sizes import lines_of
from elmo_bench.text.tables import Row, check_file, ending_of, read_table
from elmo_bench.text.token_labels import COLUMNS, read_conllu

CONLLU, TABLE = "conllu", "table"
FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")  # of CoNLL-U
WORDS = ("form", "lemma")  # fields that are no gold: `_` is a word there
MOST_LINES = 5_000_000  # a line takes 300 bytes
COMMENT = re.compile(r"# (id |newdoc|newpar|[\w.:]+ = )")  # of CoNLL-U, and of MultiCoNER
_ID = re.compile(r"\d+([-.]\d+)?")  # of a token: 3; of several, 3-4; of one that is understood, 8.1
Lines = Sequence[tuple[int, str]]  # line number from 1, text
Columns = tuple[int, int]  # of tokens and of tags, from 0


@dataclass(frozen=True)
class Layout:
    """How the lines of a column file are read."""

    count: int  # cells of a line
    separator: str  # of cells; "": spaces and tabs. Tabs alone where tokens have spaces
    indexed: bool  # the first column counts the tokens of each sentence

    def cells(self, line: str) -> list[str]:
        """The cells of a line; none in a blank line."""
        if self.separator == "":
            return cells_of(line)
        return [cell.strip() for cell in _split(line, self.separator)] if line.strip() else []


def _split(line: str, separator: str) -> list[str]:
    """The cells of a line; between commas and semicolons they may be quoted."""
    if separator == "\t" or '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell is longer than the module's limit
        return line.split(separator)


def _separator(path: Path, line: str) -> str:
    """The separator of a file that is called a table, by one of its lines; "" for other files."""
    ending = ending_of(path)
    return "\t" if ending == ".tsv" else max(",;\t", key=line.count) if ending == ".csv" else ""


def chosen_form(choice: str | None) -> str | Columns | None:
    """What `data.columns=` asks for. Raises UserError for anything else."""
    if choice is None or choice in (CONLLU, TABLE):
        return choice
    numbers = re.fullmatch(r"(\d{1,3}):(\d{1,3})", choice)
    if numbers is None or "0" in numbers.groups():
        how = f"Give {CONLLU}, {TABLE}, or the columns of tokens and tags, from 1, such as 1:4"
        raise UserError(f"data.columns={choice:.40}: not a form of files. {how}.")
    return int(numbers[1]) - 1, int(numbers[2]) - 1


def read_form(path: Path, choice: str | Columns | None) -> list[Row]:
    """The rows of a file: sentences, or rows of a table. Raises UserError."""
    check_file(path)
    if choice == TABLE or (choice is None and ending_of(path) in TABLES and not _is_column_table(path)):
        return read_table(path)
    lines = [*islice(lines_of(path, crlf=False), MOST_LINES + 1)]
    if len(lines) > MOST_LINES:
        raise UserError(f"{path}: more than {MOST_LINES:,} lines. Take a part of the file.")
    filled = [line for _, line in lines if line.strip() and not line.startswith((BOUNDARY, "#"))]
    if choice == CONLLU or (choice is None and _is_conllu(filled)):
        rows = _conllu(path)
    else:
        rows = _columns(path, lines, filled, choice if isinstance(choice, tuple) else None)
    if not rows:
        raise UserError(f"{path}: no sentences. Each line must have a token and its tag.")
    return rows


def _is_column_table(path: Path) -> bool:
    """Whether a file called .tsv or .csv has a token a line: blank lines between others, and no header."""
    if ending_of(path) not in (".tsv", ".csv"):
        return False
    separator, count = "", 0  # of the cells of a line
    gap = parted = False  # a blank line was read; and a line after it
    for _, line in lines_of(path):
        if not line.strip():
            gap = count > 0
        elif not line.startswith("#"):
            parted |= gap
            separator = separator or _separator(path, line)
            cells = [cell.strip().lower() for cell in _split(line, separator)]
            if count == 0 and {*cells} & {*USUAL["tokens"]} and {*cells} & {*USUAL["tags"]}:
                return False
            count = count or len(cells)
            if count == 1 or len(cells) != count:
                return False
    return parted


def _is_conllu(filled: Sequence[str]) -> bool:
    """Whether most lines are of CoNLL-U: ten cells between tabs, of which the first is a number."""
    cells = [line.split("\t") for line in filled]
    return 2 * sum(len(row) == COLUMNS and _ID.fullmatch(row[0]) is not None for row in cells) > len(filled)


def _conllu(path: Path) -> list[Row]:
    """A row for each sentence: its fields, without those that have no gold."""
    rows: list[Row] = []
    for lines in read_conllu(path):
        row: Row = {}
        for place, field in enumerate(FIELDS):
            cells = [cells[place] for _, cells in lines]
            if field in WORDS or {*cells} != {"_"}:
                row[field] = cells
        rows.append(row)
    return rows


def _columns(path: Path, lines: Lines, filled: Sequence[str], choice: Columns | None) -> list[Row]:
    """A row for each sentence of a column file: its tokens and tags; tags are None where there is no gold."""
    layout = _layout(path, lines, filled)
    sentences = _sentences(path, lines, layout)
    token, tag = choice or _token_and_tag(path, sentences, layout)
    if choice and sentences and max(choice) >= layout.count:
        asked = f"data.columns={token + 1}:{tag + 1}"
        raise UserError(f"{path}: {asked}, but its lines have {layout.count} columns. Give two of these.")
    rows: list[Row] = []
    for sentence in sentences:
        tags = [unescaped(cells[tag]) for cells in sentence] if layout.count > 1 else None
        rows.append({"tokens": [unescaped(cells[token]) for cells in sentence], "tags": tags})
    if layout.count == 1 or has_null_tag(row["tags"] for row in rows):
        return rows
    unknown = [row for row in rows if {*row["tags"]} == {NO_GOLD}]
    if 0 < len(unknown) < len(rows):
        note(f"{len(unknown):,} of {len(rows):,} sentences have no gold: all of their tags are {NO_GOLD}", path)
    for row in unknown:
        row["tags"] = None
    return rows


def _layout(path: Path, lines: Lines, filled: Sequence[str]) -> Layout:
    """The layout that most lines have."""
    if not filled:
        return Layout(1, "", False)
    separator = _separator(path, filled[0])
    if separator in ("", "\t"):
        [(_, spaced)] = Counter(len(cells_of(line)) for line in filled).most_common(1)
        [(tabbed, separated)] = Counter(line.count("\t") + 1 for line in filled).most_common(1)
        separator = "\t" if tabbed > 1 and separated > spaced else ""
    unindexed = Layout(0, separator, False)
    [(count, _)] = Counter(len(unindexed.cells(line)) for line in filled).most_common(1)
    return Layout(count, separator, count > 2 and _is_indexed(unindexed, lines))


def _is_indexed(layout: Layout, lines: Lines) -> bool:
    """Whether the first cells are 1, 2, 3 … (or from 0) in nine of ten sentences, and numbers in all lines."""
    right = wrong = 0
    before: int | None = None
    counts = True
    for _, line in [*lines, (0, "")]:
        cells = [] if line.startswith((BOUNDARY, "#")) else layout.cells(line)
        if cells and not _ID.fullmatch(cells[0]):
            return False
        if cells and cells[0].isdecimal():
            number = int(cells[0][:9])
            counts &= number == before + 1 if before is not None else number < 2
            before = number
        elif not line.strip() and before is not None:
            right, wrong = (right + 1, wrong) if counts else (right, wrong + 1)
            before, counts = None, True
    return right > 9 * wrong


def _sentences(path: Path, lines: Lines, layout: Layout) -> list[list[list[str]]]:
    """The cells of each token of each sentence. Raises UserError for lines with another number of cells."""
    starts = True  # whether a sentence begins

    def row(number: int, line: str) -> list[str] | None:
        """The cells; none where a sentence ends; None for a comment."""
        nonlocal starts
        cells = layout.cells(line)
        is_odd = len(cells) != layout.count
        is_comment = line.startswith("#") and (layout.indexed or bool(COMMENT.match(line)) or (starts and is_odd))
        if is_comment:
            return None
        starts = not cells or cells[0] == BOUNDARY
        if starts:
            return []
        if is_odd:
            raise UserError(f"{path}:{number}: expected {layout.count} columns, found {len(cells)}. Fix this line.")
        return cells

    sentences: list[list[list[str]]] = [[]]
    for cells in every(lines, row):
        if cells == []:
            sentences.append([])
        elif cells is not None and (not layout.indexed or cells[0].isdecimal()):
            sentences[-1].append(cells)
    return [sentence for sentence in sentences if sentence]


def _token_and_tag(path: Path, sentences: Sequence[Sequence[Sequence[str]]], layout: Layout) -> Columns:
    """The first column and the last one; what is unusual is noted.

    In a file whose first column counts the tokens, these are in the second, and the last column may say nothing.
    """
    token, tag = int(layout.indexed), layout.count - 1
    values: list[set[str]] = [set() for _ in range(layout.count)]
    for sentence in sentences:
        for cells in sentence:
            for place in range(token + 1, layout.count):
                values[place].add(cells[place])
    spans = [place for place in range(token + 1, layout.count) if _are_spans(values[place])]
    if layout.indexed and spans and values[tag] <= {"-", "_"}:
        tag = spans[-1]
    others = [str(place + 1) for place in spans if place != tag]
    if layout.indexed or others:
        more = f" (spans are in {', '.join(others)} too)" if others else ""
        counted = "the first counts tokens; " if layout.indexed else ""
        what = f"columns: {counted}tokens={token + 1}, tags={tag + 1} of {layout.count}{more}"
        note(f"{what}. data.columns=TOKENS:TAGS chooses others", path)
    return token, tag


def _are_spans(values: set[str]) -> bool:
    """Whether the distinct tags of a column are tags of spans."""
    if len(values) > 1000 or values <= {*OUTSIDE}:
        return False
    try:
        return notation_of([sorted(values)]) is not None
    except ValueError:
        return False


def grouped(rows: Sequence[Row], column: str) -> list[Row]:
    """Rows of one token each as sentences: rows that follow each other and have one value, or none, in a column.

    Each other column becomes a list. Raises UserError if no row has the column.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    if column not in names:
        raise UserError(f"data.sentence={column:.60}: no such column. The columns are {', '.join(names)}.")
    groups: list[list[Row]] = []
    current: Any = None
    for row in rows:
        value = row.get(column)
        if not groups or (value not in (None, "") and value != current):
            groups.append([])
            current = value
        groups[-1].append(row)
    return [{name: [row.get(name) for row in group] for name in names if name != column} for group in groups]
