"""The user's tables: CSV, TSV, JSON and Parquet, read and written. No torch."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.reading import check_regular, reader
from elmo_bench.base.sources import PACKED, TABLES
from elmo_bench.text.columns import line_of
from elmo_bench.text.csv_rows import (
    CsvForm,
    form_of_csv,
    marks_of,
    rows_of_csv,
    separator_of,
)
from elmo_bench.text.json_rows import rows_of_json
from elmo_bench.text.parquet_rows import rows_of_parquet
from elmo_bench.text.sizes import LARGEST, lines_of

Row = dict[str, Any]  # cell by column


def ending_of(path: Path) -> str:
    """The ending that says what a file is: `.csv` of `a.csv.gz`."""
    for ending in reversed(path.suffixes[-2:]):
        if ending.lower() not in PACKED:
            return ending.lower()
    return ""


def check_file(path: Path) -> None:
    """Raise UserError if a file is missing, too large, a pipe or a device."""
    check_regular(path)
    if path.is_dir():
        raise UserError(f"{path}: a folder, not a file")
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    size = path.stat().st_size
    if size > LARGEST:
        most = f"{size / 2**30:.1f} GiB; at most 1 GiB is read"
        raise UserError(f"{path}: {most}. Take a part of it.")


@reader
def read_table(path: Path, *, marks_are_text: bool = False) -> list[Row]:
    """The rows of a file, by its ending one of TABLES.

    A number of a named class is replaced by the name. marks_are_text: of TSV, as in
    `rows_of_csv`. Raises UserError, with the line
    where there is one.
    """
    check_file(path)
    ending = ending_of(path)
    if ending not in TABLES:
        endings = ", ".join(TABLES)
        raise UserError(f"{path}: not a table. Give a file that ends in {endings}.")
    if ending == ".parquet":
        rows = rows_of_parquet(path)
    elif ending in (".csv", ".tsv"):
        rows = rows_of_csv(path, ending, marks_are_text=marks_are_text)
    else:
        rows = rows_of_json(path, lines_of(path))
    if not rows:
        where = " below its header" if ending in (".csv", ".tsv") else ""
        raise UserError(f"{path}: no rows{where}. Give some.")
    return rows


def marks_are_text(paths: Iterable[Path]) -> bool:
    """Whether one of several files shows that quotation marks are text.

    See `csv_rows.Marks`. False for a single file, which decides itself.
    """
    tables = [path for path in paths if ending_of(path) in (".csv", ".tsv")]
    if len(tables) < 2:
        return False
    for path in tables:
        form = form_of_csv(path, ending_of(path))
        if form.separator == "\t" and marks_of(path).are_text:
            return True
    return False


def write_table(
    path: Path, rows: Sequence[Mapping[str, Any]], *, like: Path | None = None
) -> None:
    """Write rows in the form that the path's ending names, one of TABLES.

    like: a file of the same ending whose separator, byte order mark and ends of lines
    CSV gets. Lists of words in CSV are written as `line_of` does. Raises UserError for
    another ending, and for cells that the form cannot have.
    """
    ending = path.suffix.lower()
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    check_table_name(path)
    if ending == ".parquet":
        _write_parquet(path, rows, [*names])
        return
    if ending in (".csv", ".tsv"):
        form = CsvForm("\t" if ending == ".tsv" else ",")
        if like is not None and ending_of(like) == ending:
            form = form_of_csv(like, ending)
        text = _csv(rows, [*names], form, ending)
    else:
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in rows]
        text = "".join(f"{line}\n" for line in lines)
    with atomic_write(path, "w") as handle:
        handle.write(text)


def check_table_name(path: Path) -> None:
    """Raise UserError for a file to write whose name does not end as tables do."""
    if path.suffix.lower() not in TABLES:
        endings = ", ".join(TABLES)
        raise UserError(
            f"{path}: not a name of a table. Give one that ends in {endings}."
        )


def _write_parquet(
    path: Path, rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> None:
    import pyarrow.parquet

    columns = {name: [row.get(name) for row in rows] for name in names}
    with atomic_write(path) as handle:
        try:
            pyarrow.parquet.write_table(pyarrow.table(columns), handle)
        except (pyarrow.ArrowException, OverflowError) as error:
            how = "Give a name that ends in .jsonl"
            raise UserError(f"{path}: no Parquet table ({error}). {how}.") from None


def _csv(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], form: CsvForm, ending: str
) -> str:
    """The text of a CSV file."""
    text = io.StringIO()
    text.write(form.start)
    options: dict[str, Any] = {
        "delimiter": form.separator,
        "lineterminator": form.end,
    }
    plain = csv.writer(text, **options)
    quoted = csv.writer(text, quoting=csv.QUOTE_ALL, **options)
    table = [[_cell(row.get(name)) for name in names] for row in rows]
    # A header in quotes says that a tab-separated file has quoted cells (csv_rows.py),
    # which its lines alone do not show.
    has_breaks = any("\n" in cell or "\r" in cell for cell in chain(*table))
    # In quotes, names with other separators do not hide the one of the file.
    header = form.separator.join(names)
    is_unclear = separator_of([header], ending) != form.separator and not form.named
    is_quoted = is_unclear or (form.separator == "\t" and has_breaks)
    (quoted if is_quoted else plain).writerow(names)
    for cells in table:
        # Python quotes a CR only from version 3.13 on.
        has_returns = any("\r" in cell for cell in cells)
        (quoted if has_returns else plain).writerow(cells)
    return text.getvalue()


def _cell(cell: Any) -> str:
    if isinstance(cell, list) and all(isinstance(word, str | int) for word in cell):
        return line_of(map(str, cell))
    # pandas writes NaN for a missing value.
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return ""
    if isinstance(cell, list | dict):
        return json.dumps(cell, default=str)
    return str(cell)
