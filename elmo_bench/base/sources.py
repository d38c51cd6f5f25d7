"""Where a task's data comes from.

Files in the user's data folder or the package, or parquet files on the Hub. In the
options of one suite (a node of `task.data` in the yaml), `source` is `files` or `hub`.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.hub import hub_file
from elmo_bench.base.notes import note

SPLITS = ("train", "dev", "test")
# Endings of files that hold a table.
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
# Endings of files with a token a line.
COLUMN_FILES = (".conll", ".conllu", ".iob", ".iob2", ".bio", ".txt")
PACKED = (".gz", ".xz")
# Files that come with the package, as NAME.xz; NOTICE.md has licences.
SHIPPED = Path(__file__).parents[1] / "data"


class MissingData(UserError):
    """A file of a suite is neither in the user's data folder nor in the package."""


class SuiteOptions(dict[str, Any]):
    """The options of a suite: an option that is needed and not set is a UserError."""

    def __init__(self, name: str, values: Mapping[str, Any]):
        super().__init__(values)
        self.name = name
        for key, value in values.items():
            if isinstance(value, Mapping):
                self[key] = SuiteOptions(f"{name}.{key}", value)

    def __missing__(self, option: str) -> Any:
        raise UserError(
            f"{self.name}.{option}: not set. "
            "Set it as the other suites in the task's yaml do."
        )


class SuiteData:
    """The common part of most tasks' `data.py`: the suites, and reading their splits.

    A suite is a mapping whose `source` says where its data comes from. `files`:
    `folder`, and for each split a file name, or several, of which the first that exists
    is read; with `pattern`, a folder will do, too. `hub`: `hub` with `repo`, `revision`
    and a parquet file for each split.

    A task gives `read_file(path)` (or `from_files`), and `from_hub` unless `sources`
    lacks it.
    """

    sources: tuple[str, ...] = ("files", "hub")
    # Of the files in a folder, unless the options of the suite have one.
    pattern: str | None = None

    def __init__(self, **suites: Mapping[str, Any]):
        self.suites = suites

    def options(self, suite: str) -> SuiteOptions:
        """The options of a suite.

        Raises UserError for an unknown suite, and for a source that is not in
        `sources`.
        """
        if suite not in self.suites:
            suites = ", ".join(self.suites)
            raise UserError(f"suite={suite}: unknown suite. Choose one of: {suites}.")
        options = SuiteOptions(f"task.data.{suite}", self.suites[suite])
        source = options["source"]
        if source not in self.sources:
            sources = ", ".join(self.sources)
            raise UserError(
                f"{options.name}.source={source}: unknown source. "
                f"Choose one of: {sources}."
            )
        if source == "hub" and not isinstance(options["hub"], Mapping):
            raise UserError(
                f"{options.name}.hub={options['hub']}: "
                "give a mapping with repo, revision and files"
            )
        return options

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        """{"train": [...], "dev": [...], "test": [...]}.

        `root` is the data folder. Raises UserError.
        """
        options = self.options(suite)
        is_files = options["source"] == "files"
        read = self.from_files if is_files else self.from_hub
        return {split: read(options, split, root) for split in SPLITS}

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """The files that `read` reads, in the order of SPLITS.

        Files of the Hub are downloaded. Raises UserError.
        """
        options = self.options(suite)
        files = []
        if options["source"] == "hub":
            hub = options["hub"]
            for split in SPLITS:
                if split in hub:
                    file = hub_file(hub["repo"], hub[split], revision=hub["revision"])
                    files.append(file)
            return files
        splits = [
            split for split in SPLITS if isinstance(options[split], str | Sequence)
        ]
        for split in splits:
            files += self.paths(options, split, root)
        return files

    def from_files(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Any]:
        """The examples of a split in the data folder. Raises UserError."""
        examples = []
        for path in self.paths(options, split, root):
            examples += self.read_file(path)
        return examples

    def paths(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Path]:
        """The file of a split in the data folder, or with a pattern the files.

        Raises UserError.
        """
        pattern = options.get("pattern", self.pattern)
        return data_files(root, options["folder"], options[split], pattern=pattern)

    def from_hub(
        self, options: Mapping[str, Any], split: str, root: Path | None
    ) -> list[Any]:
        """The examples of a split on the Hub. Raises UserError."""
        raise UserError("Data.from_hub: not written. See docs/extend.md.")

    def canonical(self, example: Any) -> dict[str, Any]:
        """The example as JSON in the task's schema: its fields."""
        return dict(vars(example))

    def read_file(self, path: Path) -> list[Any]:
        """The examples of a file, whose gold may be missing.

        Raises UserError with file and line.
        """
        raise UserError("Data.read_file: not written. See docs/extend.md.")


def as_list(names: Any) -> list[Any]:
    """An option that may have one value or several."""
    if isinstance(names, Sequence) and not isinstance(names, str):
        return list(names)
    return [names]


def data_files(
    root: Path | None,
    folder: str,
    names: str | Sequence[str],
    *,
    pattern: str | None = None,
) -> list[Path]:
    """The first of `names` in `root`/`folder` that exists.

    A file, or with `pattern` the matching files of a folder. If the root has no such
    file, the file that comes with the package. Raises MissingData if the package lacks
    it too, and UserError if the root is not a folder or a name would lead out of it
    (the user's own symbolic links may lead anywhere).
    """
    listed = as_list(names)
    _check_names(folder, listed, names)
    wanted = " or ".join(listed)
    advice = f"Set it (or $ELMO_BENCH_DATA) to a folder that has {folder}/{wanted}."
    if root is not None and not Path(root).is_dir():
        raise UserError(f"data.root={root}: not a folder. {advice}")
    files = [Path(folder, name) for name in listed]
    for file in files:
        if file.is_absolute() or ".." in file.parts:
            raise UserError(f"{file}: leads out of data.root. Use a path inside it.")
    if root is not None:
        for file in files:
            paths = _files_at(Path(root) / file, pattern)
            if paths:
                return paths
    for file in files:
        shipped = _shipped(file)
        if shipped:
            if root is not None and (Path(root) / folder).is_dir():
                # A copy of the data, of which a part is missing.
                missing = f"not in {folder} of data.root"
                note(f"{missing}, so the file of the package is read", file)
            return [shipped]
    if root is None:
        raise MissingData(f"data.root is not set. {advice}")
    raise MissingData(
        f"{Path(root) / folder}: {wanted} not found. Put it there, or change data.root."
    )


def _check_names(folder: Any, listed: Sequence[Any], names: Any) -> None:
    """Raises UserError unless these are names of files."""
    if not listed or not all(isinstance(name, str) for name in (folder, *listed)):
        raise UserError(
            f"{folder}/{names}: not the name of a file. "
            "Give one, or several of which one exists."
        )


def _files_at(path: Path, pattern: str | None) -> list[Path]:
    """The file at a path, or the matching files of a folder; [] if there is none.

    Raises UserError for a folder without such files.
    """
    if path.is_file():
        return [path]
    if not pattern or not path.is_dir():
        return []
    files = sorted(file for file in path.rglob(pattern) if file.is_file())
    if not files:
        raise UserError(
            f"{path}: no {pattern} files in this folder. "
            "Put them there, or change data.root."
        )
    return files


def _shipped(file: Path) -> Path | None:
    """A file that comes with the package."""
    for ending in (".xz", ""):
        path = SHIPPED / f"{file}{ending}"
        if path.is_file():
            return path
    return None


def data_file(root: Path | None, folder: str, names: str | Sequence[str]) -> Path:
    """The first of `names` that is a file in `root`/`folder`.

    Raises UserError as `data_files` does.
    """
    return data_files(root, folder, names)[0]


def check_texts(cells: Sequence[Any], where: str) -> None:
    """Raise UserError unless these cells of a table hold text, which may be empty."""
    for cell in cells:
        if not isinstance(cell, str):
            raise UserError(
                f"{where} has {cell!r:.60} where text belongs. "
                "Use your own files instead."
            )


def own_suite(file: str | None, train: str | None) -> str:
    """The name of a suite of the user's own data.

    The name of the file, the folder or the repository, without its ending. A file of a
    folder that is named after its split (`reviews/train.csv`) has the name of the
    folder.
    """
    if file is not None and str(file).startswith("hub:"):
        name = str(file).removeprefix("hub:").strip("/").replace("/", ".")
    else:
        path = Path(str(file or train or "own")).expanduser().absolute()
        name = _last_part(path)
        while Path(name).suffix.lower() in (*TABLES, *COLUMN_FILES, *PACKED):
            name = Path(name).stem
        if file is None and name.lower() in ("train", "training"):
            name = _last_part(path.parent) or name
    name = unicodedata.normalize("NFC", name)  # macOS takes accents from letters
    return re.sub(r"[^\w.+=-]", "_", name).lstrip(".+=-") or "own"


def _last_part(path: Path) -> str:
    """The name of a file or folder; of a link its own, since its target may be called
    after a checksum (git-annex, DVC)."""
    return path.resolve().name if path.name == ".." else path.name
