"""Receipts: from what a report was made and what it wrote, so that the same report is
not made twice.

A receipt is a small file in the cache folder, so none comes with somebody's ledger. It
says nothing of whether records are sound, and `report` alone reads it: `check`, `merge`
and `compare` compute everything again. All contents are compared by SHA-256, none by
its time. Without a cache folder that can be written, every report is made.
"""

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from elmo_bench.base import include
from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import digest, read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger.archives import MAX_PACKED_BYTES
from elmo_bench.ledger.model import Model
from elmo_bench.ledger.paths import list_runs
from elmo_bench.ledger.store import MAX_RECORD_BYTES

MAX_BYTES = 2**24  # of a receipt, and of a file of the package or of findings
_PACKAGE = Path(__file__).parents[1]
# Files of the package that a report follows from. It has no JSON: `--published` writes
# one into the package.
_CODE = (".py", ".yaml", ".j2", ".css", ".js", ".mplstyle", ".md")

Files = dict[str, str]  # SHA-256 by absolute path


class Receipt(Model):
    """The content of the file."""

    inputs: str  # `Sources.digest`
    files: Files  # that were written


@dataclass(frozen=True)
class Sources:
    """From what a report is made."""

    ledger: Path
    costs: Path
    findings: Path | None
    out: Path
    options: Mapping[str, str]  # what else was asked for, by name

    def digest(self) -> str | None:
        """A digest of all contents and of the code that reads them.

        None if they cannot be known: a folder is included, whose code may read any
        file, or a file cannot be read, which the report will name.
        """
        if include.folders:
            return None
        try:
            return digest([
                self._address(),
                list(_versions()),
                _digests(_code_files()),
                self._cards(),
                self._records(),
                _digests(sorted(self.costs.glob("*/*.json"))),
                _digests(self._findings()),
            ])  # fmt: skip
        except (OSError, ValueError):
            return None

    @property
    def path(self) -> Path:
        """The file of the receipt. Raises UserError without a cache folder."""
        return cache_folder() / "reports" / f"{digest(self._address())}.json"

    def _address(self) -> list[object]:
        folders = [self.ledger, self.costs, self.out]
        if self.findings is not None:
            folders.append(self.findings)
        return [*(str(folder.absolute()) for folder in folders), dict(self.options)]

    def _records(self) -> Files:
        """Raises ValueError for a link, which the report names."""
        runs, problems = list_runs(self.ledger)
        if problems:
            raise ValueError(problems[0])
        files: Files = {}
        for run, names in runs.items():
            limits = {"json": MAX_RECORD_BYTES, "npz": MAX_PACKED_BYTES}
            for ending, most in limits.items():
                name = f"seed{run.seed}.{ending}"
                if name in names:
                    path = os.path.join(run.folder, name)  # noqa: PTH118 (faster)
                    files[path] = sha256_within(path, most)
        return files

    def _findings(self) -> list[Path]:
        if self.findings is None:
            return []
        code = self.findings.glob("*.py")  # claims, and what they may import
        return sorted([*code, *self.findings.glob("FINDINGS-*.md")])

    def _cards(self) -> list[str]:
        """The cards of weights to which a page in this folder has links."""
        home = self.out.parent
        files = []
        for path in _code_files():
            relative = path.relative_to(_PACKAGE.parent)
            if path.suffix == ".md" and (home / relative).is_file():
                files.append(relative.as_posix())
        return files


def files_if_unchanged(sources: Sources, inputs: str | None) -> list[str] | None:
    """The files of the last report from these sources, if all are as it wrote them.

    inputs: `sources.digest()`, now.
    """
    if inputs is None:
        return None
    try:
        receipt = read_receipt(sources.path)
        if receipt.inputs != inputs or not receipt.files:
            return None
        for path, right in receipt.files.items():
            if sha256_within(path) != right:
                return None
    except (OSError, UserError, ValueError):
        return None
    return list(receipt.files)


def keep_receipt(
    sources: Sources, inputs: str | None, files: Mapping[Path, str]
) -> None:
    """Remember what a report wrote: SHA-256 by path."""
    if inputs is None:
        return
    written = {str(path.absolute()): sha256 for path, sha256 in files.items()}
    receipt = Receipt(inputs=inputs, files=written)
    with (
        contextlib.suppress(OSError, UserError),  # nobody needs the file
        atomic_write(sources.path, "w") as file,
    ):
        file.write(json.dumps(receipt.to_json(), indent=1) + "\n")


@reader
def read_receipt(path: Path) -> Receipt:
    """Raises UserError for any other file."""
    content = read_json(path, max_bytes=MAX_BYTES, follow_links=False)
    return Receipt.read(content, "receipt")


def sha256_within(path: str | Path, most: float = float("inf")) -> str:
    """The SHA-256 of a file.

    Raises OSError if it cannot be read, and ValueError for a file of more than so many
    bytes, a link, a pipe or a device.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with os.fdopen(os.open(path, flags), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > most:
            raise ValueError(f"{path}: not a file of at most {most:,} bytes")
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digests(paths: Iterable[Path]) -> Files:
    return {str(path): sha256_within(path, MAX_BYTES) for path in paths}


def _code_files() -> list[Path]:
    """The files of the package that a report may follow from."""
    files = []
    # In a clone, tasks and configs are links to folders.
    for folder, folders, names in os.walk(_PACKAGE, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if name.endswith(_CODE):
                files.append(Path(folder, name))
    return files


def _versions() -> Iterator[str]:
    """Python and the packages that it finds, with their versions."""
    yield sys.version
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for entry in sorted(
                os.scandir(folder or "."), key=lambda entry: entry.name
            ):
                if entry.name.endswith((".dist-info", ".egg-info")):
                    yield entry.name
