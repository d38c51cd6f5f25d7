"""One process per run: several sweeps, and several machines, may share a ledger."""

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from filelock import FileLock, Timeout

from elmo_bench.base.errors import UserError
from elmo_bench.base.interrupts import interrupts_wait
from elmo_bench.ledger.lease import beats, hold_lease, is_alive, new_lease, read_lease
from elmo_bench.ledger.paths import RunPaths
from elmo_bench.ledger.record import Spec

PATIENCE = 0.2  # seconds: `is_held` takes the lock for a moment


class HeldElsewhere(UserError):
    """Another process is working on this run."""


def new_attempt() -> str:
    """The id of an attempt at a run, which its record, failure and lease carry."""
    return uuid.uuid4().hex


@contextmanager
def run_lock(paths: RunPaths, *, attempt: str | None = None, spec: Spec | None = None) -> Iterator[None]:
    """Hold the run while the block runs. Raises HeldElsewhere if another process (or block) holds it.

    On one machine the lock is the operating system's: it ends with the process, however that ends. Machines that share
    the folder see a lease (`lease.py`), which carries the attempt and its spec. Both files are removed with the lock.
    Raises UserError if the run's files are links, and if the folder cannot be written.
    """
    with ExitStack() as held:
        with interrupts_wait():
            _take(paths, held, attempt or new_attempt(), spec)
        yield


def _take(paths: RunPaths, held: ExitStack, attempt: str, spec: Spec | None) -> None:
    """Lock and lease; `held` gives them back."""
    paths.refuse_links()
    try:
        paths.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(paths.lock, timeout=PATIENCE)
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise HeldElsewhere(f"{paths.work}: another process is working on this run: left to it") from None
    except OSError as error:
        raise UserError(f"{paths.lock}: cannot be locked ({error.strerror or error})") from None
    # Unlinked while held: filelock notices that the file has lost its name, so nobody locks a file without a name.
    held.callback(lock.release)
    held.callback(paths.lock.unlink, missing_ok=True)
    os.utime(paths.lock)  # its time is then the clock of the machine that holds the folder
    lease = new_lease(attempt=attempt, spec=spec, seed=paths.seed)
    if not held.enter_context(hold_lease(paths.lease, lease, clock=paths.lock.stat().st_mtime)):
        other = read_lease(paths.lease)
        where = f"another machine ({other['machine'].split()[0]})" if other else "another machine"
        raise HeldElsewhere(f"{paths.work}: {where} is working on this run: left to it")


def is_held(paths: RunPaths) -> bool:
    """Whether a process works on this run now. Changes nothing, but takes the lock for a moment."""
    if paths.lock.is_symlink() or paths.lease.is_symlink():
        return False
    if paths.lock.exists():
        try:
            with FileLock(paths.lock, timeout=0):
                pass
        except Timeout:
            return True
        except OSError:  # a ledger that this user can only read: ask the heartbeat
            return beats(paths.lease)
    return is_alive(paths.lease)
