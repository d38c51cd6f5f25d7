"""One process per run: several sweeps may share a ledger."""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from elmo_bench.errors import UserError
from elmo_bench.ledger.paths import RunPaths


class HeldElsewhere(UserError):
    """Another process is working on this run; leave it to that process."""


@contextmanager
def run_lock(paths: RunPaths) -> Iterator[None]:
    """Hold the run while the block runs; raises HeldElsewhere at once where another process (or block) holds it.

    The lock is the operating system's: it ends with the process, however that ends. The file goes with the lock.
    """
    try:
        paths.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(paths.lock, timeout=0)
        lock.acquire()
    except Timeout:
        raise HeldElsewhere(f"{paths.work}: another process is working on this run: left to it") from None
    except OSError as error:
        raise UserError(f"{paths.lock}: cannot be locked ({error.strerror or error})") from None
    try:
        yield
    finally:
        # Unlinked while held: filelock sees that an inode has lost its name, so nobody ends up with a lock on a ghost.
        paths.lock.unlink(missing_ok=True)
        lock.release()


def is_held(paths: RunPaths) -> bool:
    """Whether some process works on this run now; changes nothing."""
    if not paths.lock.exists():
        return False
    try:
        with FileLock(paths.lock, timeout=0):
            return False
    except Timeout:
        return True
