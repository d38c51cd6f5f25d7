"""The rows of a user's Parquet file. Imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.text.sizes import LARGEST, check_names

MOST_ROWS = 5_000_000
BATCH = 1024
Row = dict[str, Any]  # cell by column


@reader
def rows_of_parquet(path: Path) -> list[Row]:
    """The rows of a file; a number of a named class is replaced by the name.

    Raises UserError.
    """
    import pyarrow.parquet  # takes a while

    with reading(path, "a Parquet file"), pyarrow.parquet.ParquetFile(path) as file:
        check_names(path, file.schema_arrow.names)
        for field in file.schema_arrow:
            if "dictionary<" in str(field.type)[1:]:
                what = f"{field.name!r:.60} has categories in lists"
                raise UserError(f"{path}: {what}. Write them as text.")
        table = _read(path, file)
        rows = table.to_pylist()
        classes = _classes(path, table.schema.metadata or {})
        for row in rows:
            for column, names in classes.items():
                row[column] = _named(row[column], names)
    return rows


def _read(path: Path, file: Any) -> Any:
    """All of a file. Raises UserError if it is too large.

    A small file may unpack to much.
    """
    import pyarrow

    parts = []
    rows = 0
    size = 0
    for part in file.iter_batches(BATCH):
        rows += part.num_rows
        size += sum(map(_unpacked, part.columns))
        if rows > MOST_ROWS or size > LARGEST:
            most = f"more than {MOST_ROWS:,} rows, or 1 GiB unpacked"
            raise UserError(f"{path}: {most}. Take a part of it.")
        parts.append(part)
    table = pyarrow.Table.from_batches(parts, file.schema_arrow)
    table.validate(full=True)
    return table


def _unpacked(column: Any) -> int:
    """The bytes of the cells; a text that many rows share counts for each of them."""
    import pyarrow.compute

    is_shared = pyarrow.types.is_dictionary(column.type)
    if not is_shared or pyarrow.types.is_primitive(column.type.value_type):
        return column.nbytes
    lengths = pyarrow.compute.binary_length(column.dictionary)
    return pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0


def _classes(path: Path, metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """The names of the classes by column, as `datasets` keeps them."""
    about = metadata.get(b"huggingface")
    if not about:
        return {}
    features = parse_json(about, path)["info"]["features"]
    classes = {column: _class_names(feature) for column, feature in features.items()}
    return {column: names for column, names in classes.items() if names}


def _class_names(feature: Any) -> list[str]:
    """The names of the classes of a feature or of the items of a list of it.

    None for other features.
    """
    if isinstance(feature, list):  # as older versions of datasets write it
        feature = {"feature": feature[0]} if feature else None
    if not isinstance(feature, dict):
        return []
    if "feature" in feature:
        return _class_names(feature["feature"])
    return feature.get("names") or []


def _named(cell: Any, classes: Sequence[str]) -> Any:
    """The name of a class for its number, also in lists.

    None for other numbers, such as -1 for no label.
    """
    if isinstance(cell, list):
        return [_named(item, classes) for item in cell]
    if isinstance(cell, int) and 0 <= cell < len(classes):
        return classes[cell]
    return None
