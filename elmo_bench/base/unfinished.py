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
# Their names, earlier versions' names included.
TEMPORARY = r"\..+\.[0-9a-f]{8}(\.unfinished)?"
# Of these, what other programs hardly use. The part of a download is none: it resumes.
OURS = r"\..+\.[0-9a-f]{8}\.unfinished"
STALE = 24 * 3600  # seconds
# Earlier versions let safetensors write caches: it left files of these names, which
# other programs use too, and whose content begins so after eight bytes.
ORPHANS = ".tmp" + 6 * "[0-9A-Za-z]"
ORPHAN_START = b'{"__metadata__":{"'


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
    for path in folder.glob(ORPHANS):
        with contextlib.suppress(OSError):
            if _is_stale(path) and _is_orphan(path):
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


def _is_orphan(path: Path) -> bool:
    """Whether safetensors wrote the file, with metadata as our caches have."""
    with path.open("rb") as file:
        start = file.read(8 + len(ORPHAN_START))
    return start[8:] == ORPHAN_START


def remove_unfinished(folder: Path) -> None:
    """Remove the files of processes that were killed in `atomic_write`.

    Nobody else may write to the folder.
    """
    for path in folder.glob(".*"):
        is_temporary = re.fullmatch(TEMPORARY, path.name)
        if is_temporary and path.is_file():
            with contextlib.suppress(OSError):
                path.unlink()
