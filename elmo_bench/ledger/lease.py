"""A file that says who works on a run, for machines that share a folder but no locks.

Its modification time is the heartbeat: the holder touches it every BEAT seconds, and a lease that was not touched for
STALE seconds may be taken over. (filelock's SoftFileLease makes a contender watch the file for the whole of that time.)
"""

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import read_json
from elmo_bench.ledger.record import SCHEMA, Lease, Spec, check_lease, now

BEAT = 60.0
STALE = 600.0
MAX_BYTES = 2**20


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"{uuid.getnode():x}"


MACHINE = f"{platform.node()} {_boot()}"  # two machines may have one name


def new_lease(*, attempt: str, spec: Spec | None, seed: int) -> Lease:
    """The lease of this process."""
    return Lease(schema=SCHEMA, attempt=attempt, spec=spec, seed=seed, machine=MACHINE, pid=os.getpid(), created=now())


def read_lease(path: Path) -> Lease | None:
    """None if there is none, if it is just being written, and if the file is anything else."""
    try:
        lease = read_json(path, max_bytes=MAX_BYTES, follow_links=False)
        check_lease(lease)
    except UserError:
        return None
    return lease


def beats(path: Path, *, clock: float | None = None) -> bool:
    """Whether there is a lease, of any machine, that was touched lately.

    clock: the time on the machine that holds the folder and stamps its files; default: on this machine. A lease dated
    far in the future is as dead as an old one.
    """
    try:
        return abs((time.time() if clock is None else clock) - path.lstat().st_mtime) < STALE
    except OSError:
        return False


def is_alive(path: Path, *, clock: float | None = None) -> bool:
    """Whether another machine holds the lease; processes of this machine have locks. `clock`: see `beats`."""
    lease = read_lease(path)
    return (lease is None or lease["machine"] != MACHINE) and beats(path, clock=clock)


@contextmanager
def hold_lease(path: Path, lease: Lease, *, clock: float) -> Iterator[bool]:
    """Hold the lease while the block runs; False if another machine holds it. `clock`: see `beats`."""
    try:
        if os.path.lexists(path) and not _remove_dead(path, clock):
            raise FileExistsError
        with path.open("x", encoding="utf-8") as handle:
            text = json.dumps(lease, default=str)
            try:
                handle.write(text)
                handle.flush()
            except OSError:  # a full disk; without its text the lease would keep every other machine away
                path.unlink()
                raise
    except FileExistsError:  # another machine holds it, or was faster
        yield False
        return
    over = threading.Event()
    heart = threading.Thread(target=_beat, args=(path, lease["attempt"], over), daemon=True)
    heart.start()
    try:
        yield True
    finally:
        over.set()
        heart.join()
        if _is_own(path, lease["attempt"]):
            path.unlink(missing_ok=True)


def _beat(path: Path, attempt: str, over: threading.Event) -> None:
    while not over.wait(BEAT):
        with suppress(OSError):  # the folder may be out of reach for a while
            if _is_own(path, attempt):
                os.utime(path, follow_symlinks=False)


def _is_own(path: Path, attempt: str) -> bool:
    lease = read_lease(path)
    return lease is not None and lease["attempt"] == attempt


def _remove_dead(path: Path, clock: float) -> bool:
    """Remove a dead lease; False if it is alive, or if another machine is removing it or has already made a new one.

    A second file lets one machine do this at a time: a machine that found the lease dead, but is late, must not remove
    the new one.
    """
    guard = path.with_name(f"{path.name}.taking")
    try:
        guard.touch(exist_ok=False)
    except FileExistsError:
        with suppress(OSError):
            if abs(clock - guard.lstat().st_mtime) > STALE:  # its maker died; the next attempt takes over
                guard.unlink()
        return False
    try:
        if is_alive(path, clock=clock):
            return False
        path.unlink(missing_ok=True)
        return True
    finally:
        guard.unlink(missing_ok=True)
