"""The forms of files of tagged sentences, whatever they are called.

They are CoNLL-U, column files and tables. The form is decided from all of a file.
`data.columns=` decides instead: CONLLU, TABLE, or the numbers of the columns of tokens
and of tags, from 1, such as `2:4`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.sources import TABLES
from elmo_bench.spec.options import spelled
from elmo_bench.tasks.ner.data import BOUNDARY
from elmo_bench.tasks.tagging.layouts import (
    Columns,
    Lines,
    layout_of,
    read_sentences,
    separator_of,
    split_line,
    token_and_tag,
)
from elmo_bench.text.columns import (
    NO_GOLD,
    WORD_NUMBER,
    cells_of,
    has_null_tag,
    unescaped,
)
from elmo_bench.text.own_columns import USUAL
from elmo_bench.text.sizes import lines_of
from elmo_bench.text.tables import Row, check_file, ending_of, read_table
from elmo_bench.text.token_labels import COLUMNS, read_conllu

CONLLU = "conllu"
TABLE = "table"
# Of CoNLL-U.
FIELDS = (
    "id",
    "form",
    "lemma",
    "upos",
    "xpos",
    "feats",
    "head",
    "deprel",
    "deps",
    "misc",
)
USUAL_NAMES = {*USUAL["tokens"], *USUAL["tags"]}
WORDS = ("form", "lemma")  # fields that are no gold: `_` is a word there
MOST_LINES = 5_000_000  # a line takes 300 bytes


def chosen_form(choice: str | None) -> str | Columns | None:
    """What `data.columns=` asks for. Raises UserError for anything else."""
    if choice is None or choice in (CONLLU, TABLE):
        return choice
    numbers = re.fullmatch(r"(\d{1,3}):(\d{1,3})", choice)
    if numbers is None or "0" in numbers.groups():
        columns = "the columns of tokens and tags, from 1, such as 1:4"
        raise UserError(
            f"data.columns={choice:.40}: not a form of files. "
            f"Give {CONLLU}, {TABLE}, or {columns}."
        )
    return int(numbers[1]) - 1, int(numbers[2]) - 1


def read_form(
    path: Path,
    choice: str | Columns | None,
    *,
    named: Collection[str] = (),
    marks_are_text: bool = False,
) -> list[Row]:
    """The rows of a file: sentences, or rows of a table.

    named: columns that the user names, so that a line with one is a header.
    marks_are_text: as in `read_table`. Raises UserError.
    """
    check_file(path)
    if choice == TABLE or (choice is None and _is_table(path, named)):
        return read_table(path, marks_are_text=marks_are_text)
    lines = [*islice(lines_of(path, crlf=False), MOST_LINES + 1)]
    if len(lines) > MOST_LINES:
        most = f"more than {MOST_LINES:,} lines"
        raise UserError(f"{path}: {most}. Take a part of the file.")
    filled: list[str] = []
    for _, line in lines:
        if line.strip() and not line.startswith((BOUNDARY, "#")):
            filled.append(line)
    if choice == CONLLU or (choice is None and _is_conllu(filled)):
        rows = _conllu(path)
    else:
        columns = choice if isinstance(choice, tuple) else None
        rows = _columns(path, lines, filled, columns)
    if not rows:
        line = "Each line must have a token and its tag"
        raise UserError(f"{path}: no sentences. {line}.")
    return rows


def note_words(path: Path, words: int) -> None:
    """Note how many words were read, if each line may be a sentence, too.

    It has several cells between spaces, which are a word and its plain tag.
    """
    if ending_of(path) in TABLES:
        return
    sizes = set()
    for _, line in lines_of(path, crlf=False):
        if "\t" in line:
            return
        sizes.add(len(cells_of(line)))
    if max(sizes, default=0) > 1:
        note(f"read as {words:,} words with tags, a word a line", path)


def _is_table(path: Path, named: Collection[str]) -> bool:
    """Whether a file is a table by its name, and not a token a line."""
    return ending_of(path) in TABLES and not _is_column_table(path, named)


def _is_column_table(path: Path, named: Collection[str]) -> bool:
    """Whether a file called .tsv or .csv has a token a line.

    It has blank lines between others, and no header. A line of empty cells is blank,
    too, unless the first line has the usual name of a column.
    """
    if ending_of(path) not in (".tsv", ".csv"):
        return False
    names = {name.lower() for name in named}
    separator = ""
    count = 0  # cells of a line
    may_be_header = False  # the first line
    gap = False  # a blank line was read
    parted = False  # and a line after it
    for _, line in lines_of(path):
        if not line.strip():
            gap = count > 0
            continue
        if line.startswith("#"):
            continue
        separator = separator or separator_of(path, line)
        cells = [cell.strip().lower() for cell in split_line(line, separator)]
        if not any(cells) and not may_be_header:
            gap = count > 0
            continue
        parted = parted or gap
        if count == 0:
            if _is_header({*cells}) or not names.isdisjoint(cells):
                return False
            may_be_header = not USUAL_NAMES.isdisjoint(cells)
        count = count or len(cells)
        if count == 1 or len(cells) != count:
            return False
    return parted


def _is_header(cells: set[str]) -> bool:
    """Whether the cells of a line are names of columns."""
    return bool(cells & {*USUAL["tokens"]}) and bool(cells & {*USUAL["tags"]})


def _is_conllu(filled: Sequence[str]) -> bool:
    """Whether most lines are of CoNLL-U.

    They have ten cells between tabs, of which the first is a number.
    """
    count = 0
    for line in filled:
        cells = line.split("\t")
        if len(cells) == COLUMNS and WORD_NUMBER.fullmatch(cells[0]):
            count += 1
    return 2 * count > len(filled)


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


def _columns(
    path: Path, lines: Lines, filled: Sequence[str], choice: Columns | None
) -> list[Row]:
    """A row for each sentence of a column file: its tokens and tags.

    Tags are None where there is no gold.
    """
    layout = layout_of(path, lines, filled)
    sentences = read_sentences(path, lines, layout)
    token, tag = choice or token_and_tag(path, sentences, layout)
    if layout.count == 1:
        tag = None
    if choice and sentences and max(choice) >= layout.count:
        asked = f"data.columns={choice[0] + 1}:{choice[1] + 1}"
        has = f"but its lines have {layout.count} columns"
        raise UserError(f"{path}: {asked}, {has}. Give two of these.")
    rows: list[Row] = []
    for sentence in sentences:
        tokens = [unescaped(cells[token]) for cells in sentence]
        tags = None
        if tag is not None:
            tags = [unescaped(cells[tag]) for cells in sentence]
        rows.append({"tokens": tokens, "tags": tags})
    if tag is not None:
        _mark_unknown(path, rows)
    return rows


def _mark_unknown(path: Path, rows: Sequence[Row]) -> None:
    """Replace the tags of sentences without gold by None, with a note."""
    if has_null_tag(row["tags"] for row in rows):
        return
    unknown = [row for row in rows if {*row["tags"]} == {NO_GOLD}]
    if 0 < len(unknown) < len(rows):
        which = f"{len(unknown):,} of {len(rows):,} sentences have no gold"
        note(f"{which}: all of their tags are {NO_GOLD}", path)
    for row in unknown:
        row["tags"] = None


def grouped(rows: Sequence[Row], column: str) -> list[Row]:
    """Rows of one token each as sentences.

    A sentence is rows that follow each other and have one value, or none, in a column.
    Each other column becomes a list; this one keeps its value. Raises UserError if no
    row has the column.
    """
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    if column not in names:
        what = f"data.sentence={column:.60}: no such column"
        raise UserError(f"{what}. The columns are {', '.join(names)}.")
    groups: list[list[Row]] = []
    values: list[Any] = []  # of each group
    for row in rows:
        value = row.get(column)
        if not groups or value not in (None, "", values[-1]):
            groups.append([])
            values.append(value)
        groups[-1].append(row)
    others = [name for name in names if name != column]
    return [
        {column: value, **_lists(group, others)}
        for value, group in zip(values, groups, strict=True)
    ]


def check_sentences(sentences: Sequence[Any], column: str | None) -> None:
    """Raise UserError if every sentence has one token.

    Then rows, or the lines between blank lines, are not sentences. column: of
    `data.sentence`.
    """
    if any(len(sentence.tokens) != 1 for sentence in sentences):
        return
    row = sentences[0].row
    columns = [
        name
        for name, cell in row.items()
        if not isinstance(cell, list) and name != column
    ]
    likely = [name for name in columns if name.lower().startswith("sent")]
    how = "Remove the blank lines between the tokens of a sentence"
    if columns:
        share = "name the column that all rows of a sentence share"
        how = f"If a row is a token, {share}: data.sentence=COLUMN"
    if likely:
        how = how.replace("COLUMN", spelled(likely[0]))
    if column is not None:
        how = f"data.sentence={column:.60} differs in each row. Name another column"
    raise UserError(
        f"all {len(sentences):,} sentences have one token. {how}. "
        "For single words use task=classification."
    )


def _lists(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Row:
    """The columns of some rows as lists."""
    return {name: [row.get(name) for row in rows] for name in names}
