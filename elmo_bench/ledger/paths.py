"""Where a run's files are: `<ledger>/<suite>/<task>/<encoder>/<hash>/seed<k>…`, and
which of them exist.

The ledger's folder may itself be a link; below it no link is followed. A link that
somebody put into a ledger (it may come from an archive) must not make a command read,
write or delete outside of it.
"""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.record import Record

_ADDRESS = re.compile(r"(\w[\w.+=-]*/){3}[0-9a-f]{12}/\d+")
# A leading dot: left by a killed atomic_write.
_ENTRY = re.compile(r"\.?seed(0|[1-9]\d{0,17})(\..+)?", re.DOTALL)
LEVELS = 4  # of folders above the files: suite, task, encoder, hash


@dataclass(frozen=True, order=True)
class RunPaths:
    """The files of one run.

    Raises UserError for a name or seed that could lead out of the ledger's folder.
    """

    ledger: Path
    suite: str
    task: str
    encoder: str
    hash: str
    seed: int

    def __post_init__(self) -> None:
        address = f"{self.suite}/{self.task}/{self.encoder}/{self.hash}/{self.seed}"
        if not _ADDRESS.fullmatch(address):
            raise UserError(
                f"{address!r}: not suite/task/encoder/hash/seed of a run. Names have "
                "letters, digits and _ . + = -, the first is a letter or a digit."
            )

    @classmethod
    def of(cls, ledger: Path, record: Record) -> Self:
        """Where this record belongs."""
        spec = record.spec
        return cls(
            ledger, spec.suite, spec.task, spec.encoder, record.hash, record.seed
        )

    @classmethod
    def at(cls, record: Path) -> Self:
        """The files of the run whose record would be at this path. Raises UserError."""
        entry = _ENTRY.fullmatch(record.name)
        if entry is None or len(record.parts) <= LEVELS:
            raise UserError(
                f"{record}: not the record of a ledger. "
                "Give LEDGER/suite/task/encoder/hash/seed<k>.json."
            )
        suite, task, encoder, run_hash = record.parts[-1 - LEVELS : -1]
        ledger = record.parents[LEVELS]
        return cls(ledger, suite, task, encoder, run_hash, int(entry[1]))

    @cached_property
    def folder(self) -> Path:
        """Shared by all seeds of a spec."""
        return self.ledger.joinpath(self.suite, self.task, self.encoder, self.hash)

    @cached_property  # joining paths takes as long as to read a small file
    def record(self) -> Path:
        """The record; if it exists the run is finished."""
        return self.folder / f"seed{self.seed}.json"

    @property
    def outcomes(self) -> Path:
        """Outcomes by item on dev and test; exists if the record does."""
        return self.folder / f"seed{self.seed}.npz"

    @property
    def lock(self) -> Path:
        """Locked by the process that works on the run: see `locks.run_lock`."""
        return self.folder / f"seed{self.seed}.lock"

    @property
    def work(self) -> Path:
        """Folder of the checkpoints during the run.

        It has head.safetensors, predictions and logs afterwards.
        """
        return self.folder / f"seed{self.seed}"

    def refuse_links(self) -> None:
        """Raise UserError if one of the run's files or folders is a link, or if `work`
        holds a link out of the ledger.

        Called before a run is written or removed. Links in `work` that stay in the
        ledger are fine: loggers make them. So are links in the logs of a wandb run,
        which nothing writes again: wandb links its own log there.
        """
        folders = [self.folder, *self.folder.parents][:LEVELS]
        files = (self.record, self.outcomes, self.lock, self.work)
        for path in (*reversed(folders), *files):
            if path.is_symlink():
                raise UserError(
                    f"{path}: a symbolic link, which the ledger does not follow. "
                    "Remove it."
                )
        root = Path(os.path.realpath(self.ledger))  # `resolve` raises for circles
        for path in self._links():
            if not Path(os.path.realpath(path)).is_relative_to(root):
                raise UserError(
                    f"{path}: a symbolic link out of the ledger. Remove it."
                )

    def _links(self) -> list[Path]:
        """The links in `work`, but in the logs of wandb."""
        links = []
        for folder, names, others in os.walk(self.work):
            if Path(folder).match(f"{self.work.name}/wandb/*run-*/logs"):
                continue
            paths = [Path(folder, name) for name in (*names, *others)]
            links += [path for path in paths if path.is_symlink()]
        return links


def check_exists(ledger: Path) -> None:
    """Raises UserError for a ledger that does not exist.

    For commands that only read it.
    """
    if not ledger.is_dir():
        raise UserError(f"{ledger}: no such folder. Give the folder of the records.")


def list_runs(
    ledger: Path, within: Sequence[str] = ()
) -> tuple[dict[RunPaths, set[str]], list[str]]:
    """(every run that left anything in the ledger, sorted, and the names of its files
    and folders; what was not followed).

    within: only of this suite, task and encoder. There are none if the folder does not
    exist. Links are not followed, but listed as problems. Opens no file.
    """
    runs: dict[RunPaths, set[str]] = {}
    problems: list[str] = []

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            why = error.strerror or error
            problems.append(f"{error.filename}: cannot be read ({why})")

    for folder, folders, files in os.walk(ledger, onerror=failed):
        parts = Path(folder).relative_to(ledger).parts
        names = _of_a_ledger(parts, {*folders, *files}, within)
        # Faster than Path.is_symlink, in a ledger of 20,000 runs.
        links = [name for name in names if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114
        for name in links:
            problems.append(
                f"{folder}/{name}: a symbolic link, which a ledger does not follow"
            )
        names = [name for name in names if name not in links]
        if len(parts) < LEVELS:
            folders[:] = [name for name in names if name in folders]
            continue
        folders.clear()
        of_seeds: dict[int, set[str]] = defaultdict(set)
        for name in names:
            of_seeds[_seed(name)].add(name)
        for seed, of_seed in of_seeds.items():
            with suppress(UserError):  # somebody else's folder
                run = RunPaths(ledger, *parts, seed)  # type: ignore[arg-type, call-arg]
                runs[run] = of_seed
    return {run: runs[run] for run in sorted(runs)}, problems


def _of_a_ledger(
    parts: Sequence[str], names: set[str], within: Sequence[str]
) -> list[str]:
    """The names in a folder of a ledger that may be of runs, sorted."""
    depth = len(parts)
    if depth >= LEVELS:
        return sorted(name for name in names if _ENTRY.fullmatch(name))
    if depth < len(within):
        names &= {within[depth]}
    return sorted(names)


def _seed(name: str) -> int:
    match = _ENTRY.fullmatch(name)
    assert match
    return int(match[1])
