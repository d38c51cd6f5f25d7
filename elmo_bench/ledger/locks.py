"""One process works on a run: several sweeps, and several machines, may share a ledger.

The locked file says who holds the lock.
"""

import json
import os
import platform
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import locked
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger.model import Model
from elmo_bench.ledger.paths import RunPaths
from elmo_bench.ledger.record import Spec

MAX_BYTES = 2**20


class HeldElsewhere(UserError):
    """Another process is working on this run."""

    def __init__(self, paths: RunPaths):
        super().__init__(
            f"{paths.work}: another process is working on this run: left to it"
        )


class Holder(Model):
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

    Raises HeldElsewhere if another process (or block) holds it, and UserError if the
    run's files are links, or if the folder cannot be written or locked.
    """
    holder = Holder(
        spec=spec, seed=paths.seed, machine=platform.node(), pid=os.getpid()
    )
    paths.refuse_links()
    text = json.dumps(holder.to_json(), default=str)
    with locked(paths.lock, text, held=HeldElsewhere(paths)):
        yield


def holder_of(paths: RunPaths) -> Holder | None:
    """The process that works on this run now.

    None if there is none, and if its file does not say. Takes the lock for a moment. In
    a ledger that this user can only read, a lock file counts as held.
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
        content = read_json(path, max_bytes=MAX_BYTES, follow_links=False)
        return Holder.read(content, "holder")
    except UserError:
        return None
