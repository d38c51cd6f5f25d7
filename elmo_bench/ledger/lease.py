"""A file that says who works on a run, for machines that share a folder but no locks.

Its time of change is the heartbeat. The holder touches it every BEAT seconds; a lease that was not touched for STALE
seconds is anybody's.
"""

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypedDict

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.schema import check

BEAT = 60.0
STALE = 600.0


class Lease(TypedDict):
    """What the file holds."""

    machine: str  # name and boot of the machine
    pid: int
    token: str  # of this lease and no other
    started: float  # seconds since 1970
    config: dict[str, Any]  # of the run, as its record will have it


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"{uuid.getnode():x}"


MACHINE = f"{platform.node()} {_boot()}"  # two machines may have one name


def read_lease(path: Path) -> Lease | None:
    """None where there is none, where it is being written just now, and where the file holds something else."""
    try:
        lease = json.loads(path.read_text(encoding="utf-8"))
        check(lease, Lease, "lease")
    except (OSError, ValueError, UserError):
        return None
    return lease


def is_alive(path: Path, *, now: float | None = None) -> bool:
    """Whether there is a lease of another machine that was touched lately; the own one's processes have locks.

    now: by the clock of the machine that holds the folder, which stamps the files; default: by this machine's.
    """
    lease = read_lease(path)
    return (lease is None or lease["machine"] != MACHINE) and beats(path, now=now)


def beats(path: Path, *, now: float | None = None) -> bool:
    """Whether there is a lease, of whatever machine, that was touched lately."""
    try:
        return (time.time() if now is None else now) - path.stat().st_mtime < STALE
    except OSError:
        return False


@contextmanager
def hold_lease(path: Path, config: Mapping[str, Any], *, now: float) -> Iterator[bool]:
    """Hold the lease while the block runs, False where another machine holds it. `now`: see `is_alive`."""
    token = uuid.uuid4().hex
    if path.exists() and not (not is_alive(path, now=now) and _remove_dead(path, now)):
        yield False
        return
    lease = Lease(machine=MACHINE, pid=os.getpid(), token=token, started=time.time(), config=dict(config))
    try:
        with path.open("x", encoding="utf-8") as handle:
            json.dump(lease, handle, default=str)
    except FileExistsError:  # another machine was faster
        yield False
        return
    over = threading.Event()
    heart = threading.Thread(target=_beat, args=(path, token, over), daemon=True)
    heart.start()
    try:
        yield True
    finally:
        over.set()
        heart.join()
        if _is_own(path, token):
            path.unlink(missing_ok=True)


def _beat(path: Path, token: str, over: threading.Event) -> None:
    while not over.wait(BEAT):
        with suppress(OSError):  # the folder may be out of reach for a while
            if _is_own(path, token):
                os.utime(path)


def _is_own(path: Path, token: str) -> bool:
    lease = read_lease(path)
    return lease is not None and lease["token"] == token


def _remove_dead(path: Path, now: float) -> bool:
    """Take a dead lease away; False where another machine is doing so, or has put its own there since.

    One at a time, held apart by a second file: who finds the lease dead, but late, may not take away a new one.
    """
    guard = path.with_name(f"{path.name}.taking")
    try:
        guard.touch(exist_ok=False)
    except FileExistsError:
        with suppress(OSError):
            if now - guard.stat().st_mtime > STALE:  # its maker is gone; the next to come takes over
                guard.unlink()
        return False
    except OSError:
        return False
    try:
        there = path.exists()  # if not, another has just taken it away: whoever makes the new one first has it
        if is_alive(path, now=now):
            return False
        if there:
            path.unlink(missing_ok=True)
        return True
    finally:
        guard.unlink(missing_ok=True)
