"""How the lines of a column file are read.

What separates cells, and whether a column counts the tokens, is decided from all lines.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.notes import note
from elmo_bench.tasks.ner.data import BOUNDARY
from elmo_bench.text.columns import WORD_NUMBER, cells_of
from elmo_bench.text.schemes import OUTSIDE, notation_of
from elmo_bench.text.tables import ending_of

# Comments of CoNLL-U, and of MultiCoNER.
COMMENT = re.compile(r"# (id |newdoc|newpar|[\w.:]+ = )")
MOST_TAGS = 1000  # distinct ones of a column that is looked at
Lines = Sequence[tuple[int, str]]  # line number from 1, text
Columns = tuple[int, int]  # of tokens and of tags, from 0
Guessed = tuple[int, int | None]  # the same; None: there are no tags
Cells = list[str]


@dataclass(frozen=True)
class Layout:
    """How the lines of a column file are read."""

    count: int  # cells of a line
    separator: str  # of cells; "": spaces and tabs. Tabs alone where tokens have spaces
    indexed: bool  # the first column counts the tokens of each sentence

    def cells(self, line: str) -> Cells:
        """The cells of a line; none in a blank line, or if all of them are empty.

        Excel writes a blank line as `;` or `,,`.
        """
        if self.separator == "":
            return cells_of(line)
        cells = [cell.strip() for cell in split_line(line, self.separator)]
        return cells if any(cells) else []


def split_line(line: str, separator: str) -> Cells:
    """The cells of a line; between commas and semicolons they may be quoted."""
    if separator == "\t" or '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell is longer than the module's limit
        return line.split(separator)


def separator_of(path: Path, line: str) -> str:
    """The separator of a file that is called a table, by one of its lines.

    "" for other files.
    """
    ending = ending_of(path)
    if ending == ".tsv":
        return "\t"
    return max(",;\t", key=line.count) if ending == ".csv" else ""


def layout_of(path: Path, lines: Lines, filled: Sequence[str]) -> Layout:
    """The layout that most lines have.

    filled: the lines that may have a token.
    """
    if not filled:
        return Layout(1, "", False)
    separator = separator_of(path, filled[0])
    if separator in ("", "\t"):
        _, with_spaces = _most_common(len(cells_of(line)) for line in filled)
        tabbed, with_tabs = _most_common(line.count("\t") + 1 for line in filled)
        separator = "\t" if tabbed > 1 and with_tabs > with_spaces else ""
    unindexed = Layout(0, separator, False)
    counts = [len(unindexed.cells(line)) for line in filled]
    count, _ = _most_common(filter(None, counts))
    return Layout(count, separator, count > 1 and _is_indexed(unindexed, lines))


def _most_common(numbers: Iterable[int]) -> tuple[int, int]:
    """The most frequent number, and how often it occurs; (1, 0) if there is none."""
    [(number, count)] = Counter(numbers).most_common(1) or [(1, 0)]
    return number, count


def _is_indexed(layout: Layout, lines: Lines) -> bool:
    """Whether the first cells count the tokens: 1, 2, 3 … (or from 0).

    They count those of each sentence, or of the file. They do so in nine of ten
    sentences, and are numbers in all lines. A sentence of one token counts nothing.
    """
    right = 0
    wrong = 0
    several = False  # whether a sentence has more than one token
    last = 0  # the number of the token before, in the file
    before: int | None = None  # the same, in the sentence
    counts = True  # whether the numbers of the sentence do count
    for _, line in [*lines, (0, "")]:
        is_other = line.startswith((BOUNDARY, "#"))
        cells = [] if is_other else layout.cells(line)
        if cells and not WORD_NUMBER.fullmatch(cells[0]):
            return False
        if cells and cells[0].isdecimal():
            number = int(cells[0][:9])
            starts = before is None and number < 2
            counts = counts and (starts or number == last + 1)
            several = several or before is not None
            before = last = number
        elif not cells and not is_other and before is not None:
            if counts:
                right += 1
            else:
                wrong += 1
            before = None
            counts = True
    return right > 9 * wrong and (several or layout.count > 2)


def read_sentences(path: Path, lines: Lines, layout: Layout) -> list[list[Cells]]:
    """The cells of each token of each sentence.

    Raises UserError for lines with another number of cells.
    """
    starts = True  # whether a sentence begins

    def row(number: int, line: str) -> Cells | None:
        """The cells; none where a sentence ends; None for a comment."""
        nonlocal starts
        cells = layout.cells(line)
        is_odd = len(cells) != layout.count
        if line.startswith("#"):
            is_usual = layout.indexed or COMMENT.match(line) is not None
            if is_usual or (starts and is_odd):
                return None
        starts = not cells or cells[0] == BOUNDARY
        if starts:
            return []
        if is_odd:
            what = f"expected {layout.count} columns, found {len(cells)}"
            raise UserError(f"{path}:{number}: {what}. Fix this line.")
        return cells

    sentences: list[list[Cells]] = [[]]
    for cells in every(lines, row):
        if cells is None:
            continue
        if not cells:
            sentences.append([])
        elif not layout.indexed or cells[0].isdecimal():
            sentences[-1].append(cells)
    return [sentence for sentence in sentences if sentence]


def token_and_tag(
    path: Path, sentences: Sequence[Sequence[Cells]], layout: Layout
) -> Guessed:
    """The first column and the last one; what is unusual is noted.

    In a file whose first column counts the tokens, these are in the second, and the
    last column may say nothing. Raises UserError if the first one has no tokens.
    """
    token = int(layout.indexed)
    tag = layout.count - 1
    if layout.count > 1:
        _check_tokens(path, sentences, token, columns=layout.count)
    if token == tag:
        if layout.indexed:
            note("columns: the first counts tokens; tokens=2 of 2, no tags", path)
        return token, None
    spans = _span_columns(sentences, range(token + 1, layout.count))
    if layout.indexed and spans and _values(sentences, tag) <= {"-", "_"}:
        tag = spans[-1]
    others = [str(place + 1) for place in spans if place != tag]
    if layout.indexed or others:
        counted = "the first counts tokens; " if layout.indexed else ""
        more = f" (spans are in {', '.join(others)} too)" if others else ""
        chosen = f"tokens={token + 1}, tags={tag + 1} of {layout.count}"
        how = "data.columns=TOKENS:TAGS chooses others"
        note(f"columns: {counted}{chosen}{more}. {how}", path)
    return token, tag


def _check_tokens(
    path: Path, sentences: Sequence[Sequence[Cells]], token: int, *, columns: int
) -> None:
    """Raise UserError if a column that was guessed has numbers or names of documents.

    All of its cells are whole numbers then or, with a third column that may have the
    tokens, each sentence has one value.
    """
    words: list[list[str]] = []
    for sentence in sentences:
        if len(sentence) > 1:
            words.append([cells[token] for cells in sentence])
    what = ""
    if columns > 2 and words and all(len(set(column)) == 1 for column in words):
        what = f"one value in each sentence, such as {words[0][0]:.40}"
    elif words and all(map(str.isdecimal, chain.from_iterable(words))):
        what = "only whole numbers"
    if what:
        which = f"column {token + 1} should have the tokens, but has {what}"
        how = "Name the columns: data.columns=TOKENS:TAGS, such as 2:3"
        raise UserError(f"{path}: {which}. {how}.")


def _span_columns(
    sentences: Sequence[Sequence[Cells]], places: Iterable[int]
) -> list[int]:
    """The columns among `places` whose values are tags of spans."""
    return [place for place in places if _are_spans(_values(sentences, place))]


def _values(sentences: Sequence[Sequence[Cells]], place: int) -> set[str]:
    """The distinct cells of a column."""
    values: set[str] = set()
    for sentence in sentences:
        values.update(cells[place] for cells in sentence)
    return values


def _are_spans(values: set[str]) -> bool:
    """Whether the distinct tags of a column are tags of spans."""
    if len(values) > MOST_TAGS or values <= {*OUTSIDE}:
        return False
    try:
        return notation_of([sorted(values)]) is not None
    except ValueError:
        return False
