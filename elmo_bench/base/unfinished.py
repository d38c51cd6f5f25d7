"""Files that are being written: their names, who holds them, removing stale ones."""

import contextlib
import fcntl
import re
import stat
import time
from pathlib import Path
from typing import IO

# Ends the names of files that will get another name when they are complete.
UNFINISHED = ".unfinished"
# Names that other programs hardly use. The part of a download has another: it resumes.
OURS = r"\..+\.[0-9a-f]{8}\.unfinished"
STALE = 24 * 3600  # seconds


def unfinished(path: Path, mark: str) -> Path:
    """The name of a file next to `path` that will replace it when it is complete."""
    return path.parent / f".{path.name}.{mark}{UNFINISHED}"


def hold(file: IO) -> None:
    """Mark an unfinished file as in use, until it is closed or the process ends.

    On a disk without locks, its age alone protects it.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_stale(folder: Path) -> None:
    """Remove unfinished files that killed processes left in a folder.

    These are older than a day, and no process holds them. The part of a download stays.
    A process looks at a folder once.
    """
    if folder in _looked_at:
        return
    _looked_at.add(folder)
    for path in folder.glob(f".*{UNFINISHED}"):
        with contextlib.suppress(OSError):
            if re.fullmatch(OURS, path.name, re.DOTALL) and _is_stale(path):
                path.unlink()


_looked_at: set[Path] = set()


def _is_stale(path: Path) -> bool:
    """Raises OSError if a process holds the file, or the disk has no locks."""
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode) or time.time() - state.st_mtime < STALE:
        return False
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


def remove_unfinished(folder: Path) -> None:
    """Remove the files of processes that were killed in `atomic_write`.

    Nobody else may write to the folder.
    """
    for path in folder.glob(".*"):
        is_ours = re.fullmatch(OURS, path.name, re.DOTALL)
        if is_ours and path.is_file():
            with contextlib.suppress(OSError):
                path.unlink()
