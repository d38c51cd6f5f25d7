"""The rows of a user's Parquet file. Imports no torch."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader, reading
from elmo_bench.text.sizes import LARGEST, MOST_CELLS, check_names

MOST_ROWS = 5_000_000
# Bytes of a value in memory, at least, by its type in the file: INT32 has narrower
# integers too, and of text it is the place alone.
WIDTHS = {"INT32": 1, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8, "BYTE_ARRAY": 4}
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
        _check_metadata(path, file.metadata)
        _check_unpacked(path, file)
        table = file.read()
        table.validate(full=True)
        rows = table.to_pylist()
        classes = _classes(path, table.schema.metadata or {}, table.column_names)
        for row in rows:
            for column, names in classes.items():
                row[column] = _named(row[column], names)
    return rows


def _check_metadata(path: Path, metadata: Any) -> None:
    """Raise UserError if a file is too large by its own account.

    It unpacks at least to the width of each value, and to the pages of each column.
    """
    rows = 0
    size = 0
    cells = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows += group.num_rows
        for place in range(metadata.num_columns):
            column = group.column(place)
            cells += column.num_values
            width = WIDTHS.get(column.physical_type, 0)
            if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
                width = metadata.schema.column(place).length
            size += max(column.num_values * width, column.total_uncompressed_size)
    _check_size(path, max(rows, metadata.num_rows), size)
    if cells > MOST_CELLS:
        raise UserError(
            f"{path}: more than {MOST_CELLS:,} cells. Leave out columns or rows."
        )


def _check_unpacked(path: Path, file: Any) -> None:
    """Raise UserError if the texts of a file are too large.

    A text that many rows share is once in the file, and once for each of them in
    memory. So each group of rows is first read as its distinct texts and their places.
    """
    import pyarrow.parquet

    texts = []
    for place in range(file.metadata.num_columns):
        leaf = file.metadata.schema.column(place)
        if leaf.physical_type == "BYTE_ARRAY":
            texts.append(leaf.path)
    if not texts:
        return
    size = 0
    with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as packed:
        for number in range(packed.num_row_groups):
            for column in packed.read_row_group(number, texts).columns:
                size += sum(map(_unpacked, column.chunks))
            _check_size(path, file.metadata.num_rows, size)


def _check_size(path: Path, rows: int, size: int) -> None:
    if rows > MOST_ROWS or size > LARGEST:
        most = f"more than {MOST_ROWS:,} rows, or 1 GiB unpacked"
        raise UserError(f"{path}: {most}. Take a part of it.")


def _unpacked(column: Any) -> int:
    """The bytes of the cells; a text that many rows share counts for each of them."""
    import pyarrow.compute

    kind = column.type
    if isinstance(column, pyarrow.ExtensionArray):
        return _unpacked(column.storage)
    if pyarrow.types.is_struct(kind):
        return sum(map(_unpacked, column.flatten()))
    if pyarrow.types.is_map(kind):
        return len(column) + _unpacked(column.keys) + _unpacked(column.items)
    if pyarrow.types.is_nested(kind):  # lists
        return len(column) + _unpacked(column.flatten())
    is_shared = pyarrow.types.is_dictionary(kind)
    if not is_shared or pyarrow.types.is_primitive(kind.value_type):
        return column.nbytes
    lengths = pyarrow.compute.binary_length(column.dictionary)
    return pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0


def _classes(
    path: Path, metadata: Mapping[bytes, bytes], columns: Collection[str]
) -> dict[str, list[str]]:
    """The names of the classes by column, as `datasets` keeps them.

    Its description may lack some of the columns, and have others.
    """
    features = parse_json(metadata.get(b"huggingface") or b"{}", path)
    for key in ("info", "features"):
        features = features.get(key) if isinstance(features, dict) else None
    if not isinstance(features, dict):
        return {}
    classes = {
        column: _class_names(feature)
        for column, feature in features.items()
        if column in columns
    }
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
    names = feature.get("names")
    return names if isinstance(names, list) else []


def _named(cell: Any, classes: Sequence[str]) -> Any:
    """The name of a class for its number, also in lists.

    None for other numbers, such as -1 for no label.
    """
    if isinstance(cell, list):
        return [_named(item, classes) for item in cell]
    if isinstance(cell, int) and 0 <= cell < len(classes):
        return classes[cell]
    return None
