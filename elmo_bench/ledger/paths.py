"""Where a run's files are: `<ledger>/<suite>/<task>/<encoder>/<hash>/seed<k>…`, and which of them exist.

The ledger's folder may itself be a link; below it no link is followed. A link that somebody put into a ledger (it may
come from an archive) must not make a command read, write or delete outside of it.

One process works on a run (`run_lock`): several sweeps, and several machines, may share a ledger. The locked file says
who holds the lock.
"""

import json
import os
import platform
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from filelock import FileLock
from typing_extensions import TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import locked
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger.record import Record, Spec
from elmo_bench.ledger.schema import check

_PLACE = re.compile(r"(\w[\w.+=-]*/){3}[0-9a-f]{12}/\d+")
_ENTRY = re.compile(r"\.?seed(0|[1-9]\d{0,17})(\..+)?", re.DOTALL)  # a leading dot: left by a killed atomic_write


@dataclass(frozen=True, order=True)
class RunPaths:
    """The files of one run. Raises UserError for a name or seed that could lead out of the ledger's folder."""

    ledger: Path
    suite: str
    task: str
    encoder: str
    hash: str
    seed: int

    def __post_init__(self) -> None:
        place = f"{self.suite}/{self.task}/{self.encoder}/{self.hash}/{self.seed}"
        if not _PLACE.fullmatch(place):
            said = "Names have letters, digits and _ . + = -, the first is a letter or a digit."
            raise UserError(f"{place!r}: not suite/task/encoder/hash/seed of a run. {said}")

    @classmethod
    def of(cls, ledger: Path, record: Record) -> Self:
        """Where this record belongs."""
        spec = record["spec"]
        return cls(ledger, spec["suite"], spec["task"], spec["encoder"], record["hash"], record["seed"])

    @property
    def folder(self) -> Path:
        """Shared by all seeds of a spec."""
        return self.ledger / self.suite / self.task / self.encoder / self.hash

    @property
    def record(self) -> Path:
        """The record; if it exists the run is finished."""
        return self.folder / f"seed{self.seed}.json"

    @property
    def outcomes(self) -> Path:
        """Per-example outcomes on the test split; exists if the record does."""
        return self.folder / f"seed{self.seed}.npz"

    @property
    def lock(self) -> Path:
        """Locked by the process that works on the run, which it names: see `run_lock`."""
        return self.folder / f"seed{self.seed}.lock"

    @property
    def work(self) -> Path:
        """Folder of the checkpoints during the run; of head.safetensors, predictions and logs afterwards."""
        return self.folder / f"seed{self.seed}"

    def refuse_links(self) -> None:
        """Raise UserError if one of the run's files or folders is a link, or if `work` holds a link out of the ledger.

        Called before a run is written or removed. Links in `work` that stay in the ledger are fine: loggers make them.
        So are links in the logs of a wandb run, which nothing writes again: wandb links its own log there.
        """
        folders = (self.folder, *self.folder.parents)[:4]
        files = (self.record, self.outcomes, self.lock, self.work)
        for path in (*reversed(folders), *files):
            if path.is_symlink():
                raise UserError(f"{path}: a symbolic link, which the ledger does not follow. Remove it.")
        root = Path(os.path.realpath(self.ledger))  # `resolve` raises for links in a circle
        for folder, names, others in os.walk(self.work):
            if Path(folder).match(f"{self.work.name}/wandb/*run-*/logs"):
                continue
            for path in (Path(folder, name) for name in (*names, *others)):
                if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
                    raise UserError(f"{path}: a symbolic link out of the ledger. Remove it.")


def check_exists(ledger: Path) -> None:
    """Raises UserError for a ledger that does not exist, for commands that only read it."""
    if not ledger.is_dir():
        raise UserError(f"{ledger}: no such folder. Give the folder of the records.")


def list_runs(ledger: Path, within: Sequence[str] = ()) -> tuple[dict[RunPaths, set[str]], list[str]]:
    """(every run that left anything in the ledger, or in this suite, task and encoder of it, sorted, and the names of
    its files and folders; what was not followed).

    There are none if the folder does not exist. Links are not followed, but listed as problems. Opens no file.
    """
    runs: dict[RunPaths, set[str]] = defaultdict(set)
    problems: list[str] = []

    def failed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            problems.append(f"{error.filename}: cannot be read ({error.strerror or error})")

    for folder, folders, files in os.walk(ledger, onerror=failed):
        place, names = Path(folder).relative_to(ledger).parts, sorted([*folders, *files])
        if len(place) < 4:
            wanted = within[len(place) : len(place) + 1] or names
            names = [name for name in names if name in wanted]
        else:
            names = [name for name in names if _ENTRY.fullmatch(name)]
        links = {name for name in names if Path(folder, name).is_symlink()}
        problems += [f"{folder}/{name}: a symbolic link, which a ledger does not follow" for name in sorted(links)]
        folders[:] = sorted({*folders} & {*names} - links) if len(place) < 4 else []
        with suppress(UserError):  # somebody else's folder
            for name in () if len(place) < 4 else (name for name in names if name not in links):
                seed = int(_ENTRY.fullmatch(name)[1])  # type: ignore[index]
                runs[RunPaths(ledger, *place, seed)].add(name)  # type: ignore[call-arg, arg-type]
    return {run: runs[run] for run in sorted(runs)}, problems


MAX_BYTES = 2**20


class HeldElsewhere(UserError):
    """Another process is working on this run."""

    def __init__(self, paths: RunPaths):
        super().__init__(f"{paths.work}: another process is working on this run: left to it")


class Holder(TypedDict):
    """The content of a lock file: who works on the run."""

    spec: Spec | None  # null: not a run, but `merge`
    seed: int  # of the run
    machine: str  # its name
    pid: int  # of the process


def new_attempt() -> str:
    """The id of an attempt at a run, which its record carries."""
    return uuid.uuid4().hex


@contextmanager
def run_lock(paths: RunPaths, *, spec: Spec | None = None) -> Iterator[None]:
    """Hold the run while the block runs; the file is removed with the lock.

    Raises HeldElsewhere if another process (or block) holds it, and UserError if the run's files are links, or if the
    folder cannot be written or locked.
    """
    holder = Holder(spec=spec, seed=paths.seed, machine=platform.node(), pid=os.getpid())
    paths.refuse_links()
    with locked(paths.lock, json.dumps(holder, default=str), held=HeldElsewhere(paths)):
        yield


def holder_of(paths: RunPaths) -> Holder | None:
    """The process that works on this run now; None if there is none, and if its file does not say.

    Takes the lock for a moment. In a ledger that this user can only read, a lock file counts as held.
    """
    if paths.lock.is_symlink() or not paths.lock.exists():
        return None
    try:
        with FileLock(paths.lock, timeout=0, fallback_to_soft=False):
            return None
    except OSError:  # a timeout among them
        return read_holder(paths.lock)


@reader
def read_holder(path: Path) -> Holder | None:
    """The content of a lock file; None if it is anything else."""
    try:
        holder = read_json(path, max_bytes=MAX_BYTES, follow_links=False)
        check(holder, Holder, "holder")
    except UserError:
        return None
    return holder
