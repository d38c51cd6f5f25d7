"""One process per run: several sweeps, and several machines, may share a ledger."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from filelock import FileLock, Timeout

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.lease import beats, hold_lease, is_alive, read_lease
from elmo_bench.ledger.paths import RunPaths

PATIENCE = 0.2  # seconds: who asks whether a run is held has its lock for a moment


class HeldElsewhere(UserError):
    """Another process is working on this run; leave it to that process."""


@contextmanager
def run_lock(paths: RunPaths, config: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Hold the run while the block runs; raises HeldElsewhere where another process (or block) holds it.

    On one machine the lock is the operating system's: it ends with the process, however that ends. Machines that share
    the folder tell each other by a lease (see `lease.py`), which says who works on the run and with which `config`.
    Both files go with the lock.
    """
    try:
        paths.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(paths.lock, timeout=PATIENCE)
        lock.acquire(poll_interval=0.01)
    except Timeout:
        raise HeldElsewhere(f"{paths.work}: another process is working on this run: left to it") from None
    except OSError as error:
        raise UserError(f"{paths.lock}: cannot be locked ({error.strerror or error})") from None
    try:
        os.utime(paths.lock)
        now = paths.lock.stat().st_mtime
        with hold_lease(paths.lease, config or {}, now=now) as held:
            if not held:
                lease = read_lease(paths.lease)
                where = f"another machine ({lease['machine'].split()[0]})" if lease else "another machine"
                raise HeldElsewhere(f"{paths.work}: {where} is working on this run: left to it")
            yield
    finally:
        # Unlinked while held: filelock sees that an inode has lost its name, so nobody ends up with a lock on a ghost.
        paths.lock.unlink(missing_ok=True)
        lock.release()


def is_held(paths: RunPaths) -> bool:
    """Whether some process works on this run now; changes nothing, but has the lock for a moment."""
    if paths.lock.exists():
        try:
            with FileLock(paths.lock, timeout=0):
                pass
        except Timeout:
            return True
        except OSError:  # somebody else's ledger, or one that can only be read: the heartbeat tells
            return beats(paths.lease)
    return is_alive(paths.lease)
