"""One process per run: several sweeps, and several machines, may share a ledger.

The lock of a run is a `FileLock` of the package filelock, that is flock(2). It ends with the process, however that
ends. A network disk passes it between machines if its server does (NFS from version 4, Lustre mounted with `flock`). A
disk without flock refuses it, and the run ends in one line. The locked file says who holds the lock; filelock (from
version 4) leaves the content of a locked file alone.
"""

import errno
import json
import os
import platform
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypedDict

from filelock import FileLock, Timeout, lock_descriptor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import refusal
from elmo_bench.base.interrupts import interrupts_wait
from elmo_bench.base.json import read_json
from elmo_bench.base.reading import reader
from elmo_bench.ledger.paths import RunPaths
from elmo_bench.ledger.record import Spec
from elmo_bench.ledger.schema import check

PATIENCE = 0.2  # seconds: `is_held` takes the lock for a moment
MAX_BYTES = 2**20


class HeldElsewhere(UserError):
    """Another process is working on this run."""


class Holder(TypedDict):
    """The content of a lock file: who works on the run."""

    spec: Spec | None  # null: not a run, but `clean` or `merge`
    seed: int  # of the run
    machine: str  # its name
    pid: int  # of the process


def new_attempt() -> str:
    """The id of an attempt at a run, which its record or failure carries."""
    return uuid.uuid4().hex


@contextmanager
def run_lock(paths: RunPaths, *, spec: Spec | None = None) -> Iterator[None]:
    """Hold the run while the block runs; the file is removed with the lock.

    Raises HeldElsewhere if another process (or block) holds it, and UserError if the run's files are links, or if the
    folder cannot be written or locked.
    """
    with ExitStack() as held:
        with interrupts_wait():
            _take(paths, held, Holder(spec=spec, seed=paths.seed, machine=platform.node(), pid=os.getpid()))
        yield


def _take(paths: RunPaths, held: ExitStack, holder: Holder) -> None:
    """Take the lock; `held` gives it back."""
    paths.refuse_links()
    try:
        paths.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(paths.lock, timeout=PATIENCE, fallback_to_soft=False)
        lock.acquire(poll_interval=0.01)
        # Unlinked while held: filelock notices that the file has lost its name, so nobody locks a file without a name.
        held.callback(lock.release)
        held.callback(paths.lock.unlink, missing_ok=True)
        paths.lock.write_text(json.dumps(holder, default=str), encoding="utf-8")
    except Timeout:
        raise HeldElsewhere(f"{paths.work}: another process is working on this run: left to it") from None
    except OSError as error:
        why = UserError(f"{paths.lock}: cannot be locked ({error.strerror or error})")
        raise refusal(error, paths.lock) or why from None


def is_held(paths: RunPaths) -> bool:
    """Whether a process works on this run now. Changes nothing, but takes the lock for a moment.

    In a ledger that this user can only read, a lock file counts as held.
    """
    try:
        file = os.open(paths.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:  # there is none, or a link
        return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    try:
        return not lock_descriptor(file, blocking=False)
    except OSError:
        return True
    finally:
        os.close(file)  # frees it


def holder_of(paths: RunPaths) -> Holder | None:
    """The process that works on this run now; None if there is none, and if its file does not say."""
    return read_holder(paths.lock) if is_held(paths) else None


@reader
def read_holder(path: Path) -> Holder | None:
    """The content of a lock file; None if it is anything else."""
    try:
        holder = read_json(path, max_bytes=MAX_BYTES, follow_links=False)
        check(holder, Holder, "holder")
    except UserError:
        return None
    return holder
