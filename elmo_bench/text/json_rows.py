"""The rows of a user's JSON: lines, a list, rows under a key, or columns. No torch."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.json import parse_json
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader
from elmo_bench.text.sizes import MOST_ROWS, Sizes

Row = dict[str, Any]  # cell by column
# Columns that have a list in a row.
OF_TOKENS = {"tokens", "words", "form", "token", "word", "predicted"}
FORMS = "Give an object on each line, or one list of objects"
_NAN = re.compile(r'"(?:[^"\\]|\\.)*+"|\bNaN\b')


@reader
def rows_of_json(path: Path, lines: Iterable[tuple[int, str]]) -> list[Row]:
    """The rows in the lines of a file (number, text).

    A list of objects, or an object on each line. Where one object is all of a file that
    is not called .jsonl: the objects of its only list of objects (`{"data": [...]}`),
    its columns, or its rows by their numbers, as pandas writes them. Raises UserError,
    with the line where there is one.
    """
    filled = ((number, line) for number, line in lines if line.strip())
    start = next(filled, None)
    if start is None:
        return []
    is_lines = ".jsonl" in map(str.lower, path.suffixes)
    is_list = start[1].lstrip().startswith("[")
    if is_list or not (is_lines or _is_json(start[1])):
        return _of_text(path, _joined(chain([start], filled)))
    second = next(filled, None)
    if second is None and not is_lines:
        return _of_text(path, start[1])

    def row(number: int, line: str) -> Row:
        value = _parsed(line, f"{path}:{number}", path)
        if not isinstance(value, dict):
            what = "not an object with names and values"
            raise UserError(f"{path}:{number}: {what}. Fix this line.")
        return value

    read = [start] if second is None else [start, second]
    return every(_counted(path, chain(read, filled)), row)


def _counted(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines, of which each is a row. Raises UserError if they are too many."""
    sizes = Sizes(path)
    for number, line in lines:
        sizes.add(_values(line), line=number)
        yield number, line


def _is_json(text: str) -> bool:
    try:
        parse_json(_without_nan(text), "")
    except UserError:
        return False
    return True


def _joined(lines: Iterable[tuple[int, str]]) -> str:
    """The text of some lines, each at its number."""
    text = bytearray()  # a list of lines would take 50 bytes for each
    last = 1
    for number, line in lines:
        text += b"\n" * (number - last) + line.encode()
        last = number
    return text.decode()


def _values(text: str) -> int:
    """At least as many as the values in a JSON text, less one for each object."""
    return text.count(",") + text.count("[") + text.count("{")


def _without_nan(text: str) -> str:
    """JSON with null in place of NaN.

    pandas and Python write NaN for a missing value.
    """
    if "NaN" not in text:
        return text
    return _NAN.sub(lambda match: "null" if match[0] == "NaN" else match[0], text)


def _parsed(text: str, where: str, path: Path) -> Any:
    """The value of a JSON text; NaN is None, with a note. Raises UserError."""
    try:
        return parse_json(text, where)
    except UserError:
        if "NaN" not in text:
            raise
    value = parse_json(_without_nan(text), where)
    note("NaN is read as a missing value", path)
    return value


def _of_text(path: Path, text: str) -> list[Row]:
    """The rows of a JSON text that is one value. Raises UserError."""
    Sizes(path).add(_values(text))
    if text.count("{") > MOST_ROWS:
        most = f"more than {MOST_ROWS:,} objects"
        raise UserError(f"{path}: {most}. Take a part of the file.")
    try:
        value = _parsed(text, str(path), path)
    except UserError as error:
        raise UserError(f"{error}. {FORMS}.") from None
    rows = _of_object(path, value) if isinstance(value, dict) else value
    is_list = isinstance(rows, list)
    if not is_list or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path}:1: not an object with names and values. {FORMS}.")
    return rows


def _of_object(path: Path, value: Mapping[str, Any]) -> list[Row]:
    """The rows of one object. Raises UserError if it has several lists of rows."""
    of_rows = [key for key, part in value.items() if _is_list_of(dict, part)]
    if len(of_rows) > 1:
        keys = ", ".join(of_rows[:5])
        how = "Write a file for each split, or one list"
        raise UserError(f"{path}: rows under {keys}. {how}.")
    if of_rows:
        note(f"the rows are under {of_rows[0]!r:.60}", path)
        return list(value[of_rows[0]])
    names = value.get("columns") or []
    data = value.get("data")
    is_split = _is_list_of(str, names) and _is_list_of(list, data)
    if is_split and all(len(cells) == len(names) for cells in value["data"]):
        note("the rows are lists under 'data'", path)
        return [dict(zip(names, cells, strict=True)) for cells in value["data"]]
    parts = [*value.values()]
    if parts and all(isinstance(part, dict) and part for part in parts):
        return _by_number(path, value)
    if _are_columns(value):
        note("read as columns", path)
        rows = zip(*parts, strict=True)
        return [dict(zip(value, cells, strict=True)) for cells in rows]
    return [dict(value)]


def _are_columns(value: Mapping[str, Any]) -> bool:
    """Whether the values of an object are columns: lists of one length.

    Lists of single values are a sentence if a name is a usual column of tokens.
    """
    parts = [*value.values()]
    if not parts or not all(isinstance(part, list) and part for part in parts):
        return False
    if any(len(part) != len(parts[0]) for part in parts):
        return False
    of_lists = any(isinstance(cell, list) for cell in chain.from_iterable(parts))
    is_sentence = OF_TOKENS & {name.lower() for name in value}
    return of_lists or not is_sentence


def _by_number(path: Path, value: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """The rows of {column: {number: cell}}, or of {number: {column: cell}}.

    pandas writes both.
    """
    numbers = [*next(iter(value.values()))]
    are_numbers = all(number.isdecimal() for number in numbers)
    if not are_numbers or all(name.isdecimal() for name in value):
        note("each value is read as a row", path)
        return [dict(row) for row in value.values()]
    note("read as columns", path)
    rows: list[Row] = []
    for number in numbers:
        rows.append({name: cells.get(number) for name, cells in value.items()})
    return rows


def _is_list_of(kind: type, value: Any) -> bool:
    """Whether this is a list of one kind that is not empty."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, kind) for item in value)
