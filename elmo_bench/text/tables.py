"""Tables of data of the user's own: CSV, TSV, JSON lines and Parquet files, which pandas and pyarrow read.

Cells stay as they are written: no number, date or missing value is guessed in a CSV file. Imports no torch.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.json import parse_json
from elmo_bench.base.progress import note
from elmo_bench.base.reading import reader, reading
from elmo_bench.base.sources import PACKED, TABLES

LARGEST = 2**30  # bytes of a file; more takes more memory than a run should
Row = dict[str, Any]  # cell by column


def ending_of(path: Path) -> str:
    """The ending that says what a file is: `.csv` of `a.csv.gz`."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    return next((ending for ending in reversed(endings) if ending not in PACKED), "")


@reader
def read_table(path: Path) -> list[Row]:
    """The rows of a file, by its ending one of TABLES. A number that stands for a named class has its name.

    Raises UserError, with the line where there is one.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if path.stat().st_size > LARGEST:
        raise UserError(f"{path}: {path.stat().st_size / 2**30:.1f} GiB; at most 1 GiB is read. Take a part of it.")
    ending = ending_of(path)
    if ending not in TABLES:
        raise UserError(f"{path}: not a table. Give a file that ends in {', '.join(TABLES)}.")
    rows = _parquet(path) if ending == ".parquet" else _json(path) if ending.startswith(".json") else _csv(path)
    if not rows:
        raise UserError(f"{path}: no rows{' below its header' if ending in ('.csv', '.tsv') else ''}. Give some.")
    return rows


def _csv(path: Path) -> list[Row]:
    lines = [line for _, line in read_lines(path)]
    if not lines or not lines[0].strip():
        raise UserError(f"{path}: the first line is empty. It must have the names of the columns.")
    separator = "\t" if ending_of(path) == ".tsv" else max(",;\t", key=lines[0].count)
    if separator == ";":
        note("columns are separated by semicolons", path)
    names, *cells = _cells(lines, separator, path)
    if twice := sorted({name for _, own in [names] for name in own if own.count(name) > 1}):
        raise UserError(f"{path}: two columns are named {twice[0]!r}. Rename one.")
    for number, row in cells:
        if len(row) != len(names[1]):
            raise UserError(f"{path}:{number}: {len(row)} cells in {len(names[1])} columns. Fix this row.")
    return [dict(zip(names[1], row, strict=True)) for _, row in cells]


def _cells(lines: Sequence[str], separator: str, path: Path) -> list[tuple[int, list[str]]]:
    """(number of the last line, cells) of each row; rows without a character are left out."""
    csv.field_size_limit(2**27)
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    found: list[tuple[int, list[str]]] = []
    try:
        for row in rows:
            if row:
                found.append((rows.line_num, row))
    except csv.Error as error:
        raise UserError(f"{path}:{rows.line_num}: not a row of a table ({error}). Fix its quotes.") from None
    return found


def _json(path: Path) -> list[Row]:
    lines = [(number, line) for number, line in read_lines(path) if line.strip()]
    if lines and lines[0][1].lstrip().startswith("["):  # one list of objects
        rows = [(1, row) for row in parse_json("\n".join(line for _, line in lines), str(path))]
    else:
        rows = [(number, parse_json(line, f"{path}:{number}")) for number, line in lines]
    for number, row in rows:
        if not isinstance(row, dict):
            raise UserError(f"{path}:{number}: not an object with names and values. Fix this line.")
    return [row for _, row in rows]


def _parquet(path: Path) -> list[Row]:
    import pyarrow.parquet  # takes a while

    with reading(path, "a Parquet file"):
        table = pyarrow.parquet.read_table(path)
        table.validate(full=True)
        names = _class_names((table.schema.metadata or {}).get(b"huggingface"))
        rows = table.to_pylist()
    for column, classes in names.items():
        for row in rows if column in table.column_names else ():
            row[column] = _named(row[column], classes)
    return rows


def _class_names(about: bytes | None) -> dict[str, list[str]]:
    """The names of classes by column, as `datasets` keeps them in a file."""
    features = json.loads(about)["info"]["features"] if about else {}
    inner = {column: kind.get("feature", kind) if isinstance(kind, dict) else {} for column, kind in features.items()}
    return {column: kind["names"] for column, kind in inner.items() if isinstance(kind, dict) and kind.get("names")}


def _named(cell: Any, classes: Sequence[str]) -> Any:
    if isinstance(cell, list):
        return [_named(each, classes) for each in cell]
    return classes[cell] if isinstance(cell, int) and 0 <= cell < len(classes) else None


def write_table(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of the same columns in the form that the ending of the path names."""
    rows, ending = list(rows), ending_of(path)
    if ending == ".parquet":
        import pyarrow
        import pyarrow.parquet

        with atomic_write(path) as handle:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), handle)
        return
    text = io.StringIO()
    if ending in (".csv", ".tsv"):
        table = csv.DictWriter(text, list(rows[0]), delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
        table.writeheader()
        table.writerows({key: cell if isinstance(cell, str) else _cell(cell) for key, cell in row.items()} for row in rows)
    else:
        text.writelines(f"{json.dumps(row, ensure_ascii=False, default=str)}\n" for row in rows)
    with atomic_write(path, "w") as handle:
        handle.write(text.getvalue())


def _cell(cell: Any) -> str:
    return "" if cell is None else cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)
