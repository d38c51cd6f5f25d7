"""Files of data of the user's own: which they are, by split, and CSV, TSV, JSON lines and Parquet tables. No torch.

`data.file` is a file, a folder with a file for each split, or `hub:user/repo`; `data.train`, `data.dev` and `data.test`
are files. Cells stay as they are written: no number, date or missing value is guessed in a CSV file.
"""

import csv
import io
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

from elmo_bench.base.downloads import offline
from elmo_bench.base.errors import UserError, every
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.json import parse_json
from elmo_bench.base.notes import note
from elmo_bench.base.reading import check_regular, reader, reading
from elmo_bench.base.sources import PACKED, SPLITS, TABLES, hub_errors, hub_file
from elmo_bench.text.columns import line_of

LARGEST = 2**30  # bytes of a file, and characters of an unpacked one; more takes more memory than a run should
MOST_ROWS, BATCH = 5_000_000, 1024  # of a Parquet file
Row = dict[str, Any]  # cell by column
NAMES = {  # of the files of a split, as words in their names
    "train": {"train", "training"},
    "dev": {"dev", "devel", "development", "valid", "validation", "val", "testa"},
    "test": {"test", "testb", "testing"},
}


def files_of(file: str | None, given: Mapping[str, str | None], reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split that the user has: of `file`, or those `given` by split.

    `reads` says whether a file of a folder may hold data. Raises UserError.
    """
    if file is not None and file.startswith("hub:"):
        return _of_hub(file.removeprefix("hub:").strip("/"), reads)
    named = {"train": file} if file is not None else given
    paths = {split: Path(name).expanduser() for split, name in named.items() if name is not None}
    if file is not None and (folder := paths["train"]).is_dir():
        return _by_split(sorted(each for each in folder.rglob("*") if each.is_file() and reads(each)), folder)
    for path in paths.values():
        check_file(path)
    return {split: [path] for split, path in paths.items()}


def _by_split(files: Sequence[Path], folder: Path) -> dict[str, list[Path]]:
    """The files of each split, by the words of their names; one file alone is all of the data. Raises UserError."""
    if not files:
        raise UserError(f"{folder}: no file of data. Those that end in {', '.join(TABLES)} are read.")
    if len(files) == 1:
        return {"train": [*files]}
    chosen: dict[str, list[Path]] = defaultdict(list)
    for file in files:
        words = {*re.findall(r"[a-z]+", str(file.relative_to(folder)).lower())}
        of = [split for split in SPLITS if words & NAMES[split]]
        if len(of) == 1:
            chosen[of[0]].append(file)
    wrong = [split for split, own in chosen.items() if len({(file.parent, ending_of(file)) for file in own}) > 1]
    if wrong or "train" not in chosen:
        named = [str(file.relative_to(folder)) for file in (chosen[wrong[0]] if wrong else files)]
        what = f"more than one {wrong[0]}" if wrong else "no file with train in its name"
        raise UserError(f"{folder}: {what} ({', '.join(named[:5])}). Give data.train=FILE, or a folder inside.")
    return {split: chosen[split] for split in SPLITS if split in chosen}


def _of_hub(name: str, reads: Callable[[Path], bool]) -> dict[str, list[Path]]:
    """The files of each split of `user/repo`, or of a folder in it, downloaded to the Hub's cache. Raises UserError."""
    user, repo, folder = [*name.split("/", 2), "", ""][:3]
    if not user or not repo:
        raise UserError(f"data.file=hub:{name}: give hub:user/repo")
    revision, files = _listing(f"{user}/{repo}", os.environ.get("HF_ENDPOINT") or None)
    root = Path(f"hub:{user}", repo)
    splits = _by_split([root / path for path in files if path.is_relative_to(folder) and reads(path)], root / folder)
    return {
        split: [hub_file(f"{user}/{repo}", str(path.relative_to(root)), revision=revision) for path in paths]
        for split, paths in splits.items()
    }


@cache  # a sweep asks for each run
def _listing(repo: str, endpoint: str | None) -> tuple[str, list[Path]]:
    """(commit, files) of a data set repository. Raises UserError."""
    from huggingface_hub import HfApi

    if offline():
        raise UserError(f"hub:{repo}: which files it has is not known without network. Give data.file=FOLDER.")
    with hub_errors(f"hub:{repo}"):
        about = HfApi(endpoint).dataset_info(repo)
    return str(about.sha), sorted(Path(each.rfilename) for each in about.siblings or ())


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
    rows = _parquet(path) if ending == ".parquet" else _json(path) if ending.startswith(".json") else _csv(path)
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
    text = "\n".join(line for _, line in lines_of(path))
    lines = io.StringIO(f"{text}\n", newline="").readlines()  # a CR alone ends a line, too, as in files of old programs
    if not lines[0].strip():
        raise UserError(f"{path}: the first line is empty. It must have the names of the columns.")
    if named := re.fullmatch(r"(?i)sep=([,;|\t])\s*", lines[0]):  # Excel's first line
        lines[0] = "\n"
    separator = named[1] if named else "\t" if ending_of(path) == ".tsv" else max(",;\t", key=lines[0].count)
    if separator != "," and ending_of(path) == ".csv":
        note(f"columns are separated by {separator!r}", path)
    csv.field_size_limit(LARGEST)
    bare = separator == "\t" and _has_bare_quotes(lines)
    table = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE if bare else csv.QUOTE_MINIMAL, strict=True)
    written, start = list[tuple[int, list[str]]](), 1  # rows, with the lines that they begin in
    try:
        for cells in table:
            written += [(start, cells)] if cells else []
            start = table.line_num + 1
    except csv.Error as error:
        raise UserError(f"{path}:{start}: not a row of a table ({error}). Fix the quotes of this row.") from None
    names = [name.strip() for name in written[0][1]] if written else []
    _check_names(path, names)

    def row(start: int, cells: list[str]) -> Row:
        if len(cells) != len(names):
            raise UserError(f"{path}:{start}: {len(cells)} cells in {len(names)} columns. Fix this row.")
        return dict(zip(names, cells, strict=True))

    return every(written[1:], row)


def _has_bare_quotes(lines: Sequence[str]) -> bool:
    """Whether a quotation mark of these tab-separated lines is part of the text, as in files written without quoting.

    So it is where each line has as many cells as the first, two or more, and a cell begins with a mark without being
    quoted as a whole: a reader of quoted cells would join such lines.
    """
    cells = [line.rstrip("\r\n").split("\t") for line in lines if line.strip()]
    if len(cells[0]) < 2 or {*map(len, cells)} != {len(cells[0])}:
        return False
    return any(cell.startswith('"') and not re.fullmatch(r'"(?:[^"]|"")*"', cell) for row in cells for cell in row)


def _check_names(path: Path, names: Sequence[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UserError(f"{path}: two columns are named {twice[0]!r:.60}. Rename one.")


def _json(path: Path) -> list[Row]:
    lines = [(number, line) for number, line in lines_of(path) if line.strip()]
    if lines and lines[0][1].lstrip().startswith("["):  # one list of objects
        rows = [(1, row) for row in parse_json("\n".join(line for _, line in lines), str(path))]
    else:
        rows = every(lines, lambda number, line: (number, parse_json(line, f"{path}:{number}")))
    if wrong := [number for number, row in rows if not isinstance(row, dict)]:
        raise UserError(f"{path}:{wrong[0]}: not an object with names and values. Fix this line.")
    return [row for _, row in rows]


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
        written = csv.writer(text, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
        written.writerows([names, *([_cell(row.get(name)) for name in names] for row in rows)])
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
