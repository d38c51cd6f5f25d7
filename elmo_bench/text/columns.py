r"""Column files: one token a line, a blank line after each sentence.

Cells are separated by spaces or tabs. White space inside a token is escaped: `\u{a0}`
is a no-break space (its number in hexadecimal digits), `\u{}` an empty token, and
`\u{5c}u{` the text `\u{`. Every other character is written unchanged, and text without
`\u{` is read so.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.files import open_text, read_lines
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader, reading

NO_GOLD = "-"  # the gold label in a file of predictions for text without gold
# Readers drop a byte order mark at the start of a file.
_SPECIAL = re.compile(r"[\s\ufeff]|\\(?=u\{)")
_WRITTEN = re.compile(r"\\u\{([0-9a-f]{0,6})\}")
LARGEST = 2**30  # bytes of an unpacked file
# Of a token in CoNLL-U: 3; of several, 3-4; of one that is only understood, 8.1.
WORD_NUMBER = re.compile(r"\d+([-.]\d+)?")
Row = tuple[int, list[str]]  # line number from 1, cells


def escaped(token: str, *, reserved: Container[str] = ()) -> str:
    """The spelling of a token: at least one character, and no white space.

    reserved: words with another meaning in the file. A token that equals one has its
    first character escaped.
    """
    start, rest = "", token
    if not token or token in reserved:
        start, rest = _code(token[:1]), token[1:]
    return start + _SPECIAL.sub(lambda match: _code(match[0]), rest)


def unescaped(text: str) -> str:
    """The token of a spelling."""
    return _WRITTEN.sub(_character, text) if "\\u{" in text else text


def line_of(tokens: Iterable[str]) -> str:
    """Tokens on a line, separated by spaces."""
    return " ".join(map(escaped, tokens))


def tokens_of(line: str) -> list[str]:
    """The tokens of a line, separated by white space of any kind."""
    return [unescaped(text) for text in line.split()]


def _code(character: str) -> str:
    return f"\\u{{{ord(character):x}}}" if character else "\\u{}"


def _character(match: re.Match[str]) -> str:
    code = int(match[1] or "0", 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return match[0]  # no character has this number
    return chr(code) if match[1] else ""


@reader
def read_columns(
    path: Path, *, columns: int | None = None, boundary: str | None = None
) -> Iterator[list[Row]]:
    """The sentences of a file, each a list of rows; empty sentences are skipped.

    Every row has `columns` cells (None: as many as the first row, at least two). Only
    spaces and tabs separate cells, so a token may contain other white space, such as a
    no-break space; escapes are undone. A line whose first cell is `boundary` ends a
    sentence and is skipped. Raises UserError with file and line.
    """

    count = columns

    def row(number: int, line: str) -> Row:
        nonlocal count
        cells = cells_of(line)
        if not cells or cells[0] == boundary:
            return number, []
        count = count or max(2, len(cells))
        if len(cells) != count:
            raise UserError(
                f"{path}:{number}: expected {count} columns, found {len(cells)}. "
                "Fix this line."
            )
        return number, [unescaped(cell) for cell in cells]

    return sentences(every(read_lines(path), row))


def cells_of(line: str) -> list[str]:
    """The cells of a line, as written; none in a blank line.

    Spaces and tabs separate cells.
    """
    text = line.strip(" \t")
    return re.split(r"[ \t]+", text) if text else []


def sentences(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows of each sentence.

    A row without cells ends a sentence, and there are no empty sentences.
    """
    for filled, group in groupby(rows, key=lambda row: bool(row[1])):
        if filled:
            yield list(group)


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that has an item a line, with their numbers.

    Empty lines are skipped, with a note.
    """
    empty: list[int] = []
    for number, line in read_lines(path):
        if line.strip():
            yield number, line
        else:
            empty.append(number)
    if empty:
        note(
            f"{len(empty):,} empty lines skipped, the first is line {empty[0]:,}", path
        )


def read_plain(path: Path) -> list[tuple[str, ...]]:
    """The tokens of each line of a file of sentences, with a note that it was read so.

    Raises UserError.
    """
    texts = [tuple(tokens_of(line)) for _, line in filled_lines(path)]
    form = "one a line, their tokens separated by spaces"
    note(f"read as {len(texts):,} sentences without gold, {form}", path)
    return texts


def has_null_tag(sequences: Iterable[Sequence[str]]) -> bool:
    """Whether `-` is a tag of its own in a file.

    Then there are sentences of `-` and other tags. Otherwise it is missing gold.
    """
    return any(NO_GOLD in tags and set(tags) != {NO_GOLD} for tags in sequences)


def check_gold(
    path: Path, gold: Iterable[str], unknown: Container[str] = (NO_GOLD,)
) -> None:
    """Raise UserError if all gold labels of a file of predictions are unknown."""
    if all(label in unknown for label in gold):
        raise UserError(
            f"{path}: no gold labels, so there is nothing to score. "
            "Predict a file that has gold."
        )


def check_ended(path: Path) -> None:
    """Raise UserError if a text file is empty or lacks its last newline.

    Without a last newline it was cut off. A file of more than LARGEST bytes, unpacked,
    is refused.
    """
    size = 0
    last = b""
    with reading(path, "a text file"), open_text(path) as handle:
        while block := handle.read(2**20):
            size += len(block)
            last = block[-1:]
            if size > LARGEST:
                raise UserError(
                    f"{path}: more than {LARGEST:,} bytes. Use several files."
                )
    if not last:
        raise UserError(f"{path}: the file is empty. Write or download it again.")
    if last != b"\n":
        number = sum(1 for _ in read_lines(path))
        raise UserError(
            f"{path}:{number}: the last line has no end, so the file may be cut off. "
            "End the last line with a newline, or download the file again."
        )
