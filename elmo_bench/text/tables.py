"""Tables of the user's own: CSV, TSV, JSON and Parquet. No torch.

Cells stay as they are written: no number, date or missing value is guessed in a CSV file.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError, every
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.json import parse_json
from elmo_bench.base.notes import note
from elmo_bench.base.reading import check_regular, reader, reading
from elmo_bench.base.sources import PACKED, TABLES
from elmo_bench.text.columns import line_of
from elmo_bench.text.json_rows import rows_of_json
from elmo_bench.text.sizes import LARGEST, Sizes

MOST_ROWS, BATCH = 5_000_000, 1024  # of a Parquet file
Row = dict[str, Any]  # cell by column


def ending_of(path: Path) -> str:
    """The ending that says what a file is: `.csv` of `a.csv.gz`."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    return next((ending for ending in reversed(endings) if ending not in PACKED), "")


def check_file(path: Path) -> None:
    """Raise UserError if there is no such file, if it is a pipe or a device, or if it is too large."""
    check_regular(path)
    if not path.is_file():
        raise UserError(f"{path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
    if path.stat().st_size > LARGEST:
        raise UserError(f"{path}: {path.stat().st_size / 2**30:.1f} GiB; at most 1 GiB is read. Take a part of it.")


@reader
def read_table(path: Path) -> list[Row]:
    """The rows of a file, by its ending one of TABLES. A number that stands for a named class has its name.

    Raises UserError, with the line where there is one.
    """
    check_file(path)
    ending = ending_of(path)
    if ending not in TABLES:
        raise UserError(f"{path}: not a table. Give a file that ends in {', '.join(TABLES)}.")
    rows = (
        _parquet(path)
        if ending == ".parquet"
        else rows_of_json(path, lines_of(path))
        if ending.startswith(".json")
        else _csv(path)
    )
    if not rows:
        raise UserError(f"{path}: no rows{' below its header' if ending in ('.csv', '.tsv') else ''}. Give some.")
    return rows


def lines_of(path: Path, *, crlf: bool = True) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers. crlf: whether CRLF is usual. Raises UserError, also for a large file."""
    size = 0
    for number, line in read_lines(path, crlf=crlf):
        size += len(line)
        if size > LARGEST:
            raise UserError(f"{path}:{number}: more than {LARGEST:,} characters. Take a part of the file.")
        yield number, line


def _csv(path: Path) -> list[Row]:
    lines = _pieces(path)
    first = next(lines, "")
    if not first.strip():
        raise UserError(f"{path}: the first line is empty. It must have the names of the columns.")
    if named := re.fullmatch(r"(?i)sep=([,;|\t])\s*", first):  # Excel's first line
        first = "\n"
    separator = named[1] if named else "\t" if ending_of(path) == ".tsv" else max(",;\t", key=first.count)
    if separator != "," and ending_of(path) == ".csv":
        note(f"columns are separated by {separator!r}", path)
    bare = separator == "\t" and _has_bare_quotes(path)
    rows = _cells(path, chain([first], lines), separator, csv.QUOTE_NONE if bare else csv.QUOTE_MINIMAL)
    names = [name.strip() for name in next(rows, (1, []))[1]]
    unnamed = names.count("") > 1  # as Excel and pandas leave them, which nobody can choose
    used = [place for place, name in enumerate(names) if name or not unnamed]
    _check_names(path, [names[place] for place in used])

    def row(start: int, cells: list[str]) -> Row:
        if len(cells) != len(names):
            raise UserError(f"{path}:{start}: {len(cells)} cells in {len(names)} columns. Fix this row.")
        return {names[place]: cells[place] for place in used}

    return every(rows, row)


def _pieces(path: Path) -> Iterator[str]:
    """The lines of a CSV file with their ends; a CR alone ends a line, too, as in files of old programs."""
    for _, line in lines_of(path):
        *before, last = line.split("\r")
        yield from (f"{piece}\r" for piece in before)
        yield f"{last}\n"


def _cells(path: Path, lines: Iterable[str], separator: str, quoting: Any) -> Iterator[tuple[int, list[str]]]:
    """(the line that a row begins in, its cells) of each row that has cells. Raises UserError."""
    csv.field_size_limit(LARGEST)
    table = csv.reader(lines, delimiter=separator, quoting=quoting, strict=True)
    sizes, start = Sizes(path), 1
    try:
        for cells in table:
            if cells:
                sizes.add(len(cells), line=start)
                yield start, cells
            start = table.line_num + 1
    except csv.Error as error:
        raise UserError(f"{path}:{start}: not a row of a table ({error}). Fix the quotes of this row.") from None


def _has_bare_quotes(path: Path) -> bool:
    """Whether a quotation mark of a tab-separated file is part of the text, as in files written without quoting.

    So it is where each line has as many cells as the first, two or more, and a cell begins with a mark without being
    quoted as a whole: a reader of quoted cells would join such lines. It is noted.
    """
    count = bare = first = 0  # cells of a line; lines with such a cell, and the first of them
    for number, line in enumerate(_pieces(path), 1):
        cells = line.rstrip("\r\n").split("\t")
        if line.strip():
            count = count or len(cells)
            if len(cells) != count or count < 2:
                return False
            if any(cell.startswith('"') and not re.fullmatch(r'"(?:[^"]|"")*"', cell) for cell in cells):
                bare += 1
                first = first or number
    if bare:
        what = (
            "quotation marks are text here and each line is a row, since a cell begins with a mark and does not end so"
        )
        note(f"{what}: line {first:,}{f' and {bare - 1:,} more' if bare > 1 else ''}", path)
    return bool(bare)


def _check_names(path: Path, names: Sequence[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UserError(f"{path}: two columns are named {twice[0]!r:.60}. Rename one.")


def _parquet(path: Path) -> list[Row]:
    import pyarrow.parquet  # takes a while

    with reading(path, "a Parquet file"), pyarrow.parquet.ParquetFile(path) as file:
        _check_names(path, file.schema_arrow.names)
        if odd := [field.name for field in file.schema_arrow if "dictionary<" in str(field.type)[1:]]:
            raise UserError(f"{path}: {odd[0]!r:.60} has categories in lists. Write them as text.")
        parts, rows, size = [], 0, 0
        for part in file.iter_batches(BATCH):  # a small file may unpack to much
            rows, size = rows + part.num_rows, size + sum(map(_unpacked, part.columns))
            if rows > MOST_ROWS or size > LARGEST:
                raise UserError(f"{path}: more than {MOST_ROWS:,} rows, or 1 GiB unpacked. Take a part of it.")
            parts.append(part)
        table = pyarrow.Table.from_batches(parts, file.schema_arrow)
        table.validate(full=True)
        about = (table.schema.metadata or {}).get(b"huggingface")  # the features, as `datasets` keeps them
        features = parse_json(about, path)["info"]["features"] if about else {}
        classes = {column: names for column, feature in features.items() if (names := _class_names(feature))}
        return [
            row | {column: _named(row[column], names) for column, names in classes.items()} for row in table.to_pylist()
        ]


def _unpacked(column: Any) -> int:
    """The bytes of the cells; a text that many rows share counts for each of them."""
    import pyarrow.compute

    if not pyarrow.types.is_dictionary(column.type) or pyarrow.types.is_primitive(column.type.value_type):
        return column.nbytes
    lengths = pyarrow.compute.binary_length(column.dictionary)
    return pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0


def _class_names(feature: Any) -> list[str]:
    """The names of the classes of a feature or of the items of a list of it; none for other features."""
    if isinstance(feature, list):  # as older versions of datasets write it
        feature = {"feature": feature[0]} if feature else None
    if not isinstance(feature, dict):
        return []
    return _class_names(feature["feature"]) if "feature" in feature else feature.get("names") or []


def _named(cell: Any, classes: Sequence[str]) -> Any:
    """The name of a class for its number, also in lists; None for other numbers, such as -1 for no label."""
    if isinstance(cell, list):
        return [_named(each, classes) for each in cell]
    return classes[cell] if isinstance(cell, int) and 0 <= cell < len(classes) else None


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows in the form that the path's ending names, one of TABLES; lists of words in CSV as `line_of` does.

    Raises UserError for another ending, and for cells that the form cannot have.
    """
    ending, names = path.suffix.lower(), list(dict.fromkeys(name for row in rows for name in row))
    if ending not in TABLES:
        raise UserError(f"{path}: not a name of a table. Give one that ends in {', '.join(TABLES)}.")
    if ending == ".parquet":
        import pyarrow.parquet

        try:
            table = pyarrow.table({name: [row.get(name) for row in rows] for name in names})
        except pyarrow.ArrowException as error:
            raise UserError(f"{path}: no Parquet table ({error}). Give a name that ends in .jsonl.") from None
        with atomic_write(path) as handle:
            pyarrow.parquet.write_table(table, handle)
        return
    text = io.StringIO()
    if ending in (".csv", ".tsv"):
        separator = "\t" if ending == ".tsv" else ","
        plain = csv.writer(text, delimiter=separator, lineterminator="\n")
        quoted = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for cells in [names, *([_cell(row.get(name)) for name in names] for row in rows)]:
            returns = any("\r" in cell for cell in cells)  # which Python quotes only from version 3.13 on
            written = quoted if returns else plain
            written.writerow(cells)
    else:
        text.writelines(f"{json.dumps(row, ensure_ascii=False, default=str)}\n" for row in rows)
    with atomic_write(path, "w") as handle:
        handle.write(text.getvalue())


def _cell(cell: Any) -> str:
    if isinstance(cell, list) and all(isinstance(word, str | int) for word in cell):
        return line_of(map(str, cell))
    if cell is None or (isinstance(cell, float) and isnan(cell)):  # which pandas writes for a missing one
        return ""
    return str(cell) if isinstance(cell, str | int | float) else json.dumps(cell, default=str)
