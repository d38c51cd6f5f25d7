"""Checksums of the bytes that were read: what a run takes from a file belongs to the SHA-256 that its hash holds."""

import contextlib
import hashlib
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, sha256_of

LARGE = 64 * 2**20  # bytes; a smaller file is hashed at every start, in a fraction of a second
SETTLED = 5.0  # seconds; no file system in use keeps times more coarsely than 2


class State(NamedTuple):
    """What the system says about a file without reading it."""

    size: int  # bytes
    modified: int  # nanoseconds
    changed: int  # nanoseconds
    inode: int


class Content:
    """The SHA-256 of a file that is read next. Take it, read the file, call `check`, and only then use what was read.

    Why that is safe: the state of a file is looked at before it is hashed. Whoever writes to the file or sets its time
    of modification back sets its time of change to the present, which no program can choose; a file renamed over it has
    another inode. So if both times were SETTLED seconds old when hashing began, every later change shows in the state,
    and a `check` that finds the same state knows that the bytes were the same all the time. The times of a younger file
    may hide a change, since they are as coarse as the file system's clock: `check` hashes it again.

    The checksum of a large file is remembered in the cache folder under path and state, if the file was settled, and is
    trusted for as long as the state is the same.
    """

    def __init__(self, path: Path, *, large: int = LARGE, settled: float = SETTLED):
        """`large`: bytes from which a file is large; `settled`: seconds.

        Raises UserError if the file cannot be read, and if it changes meanwhile.
        """
        self.path, self._large, self._seconds = path, large, settled
        now = time.time()
        try:
            self._state = _state(path)
            self._settled = now - max(self._state.modified, self._state.changed) / 1e9 >= settled
            self.sha256 = self._recall() or self._hash()
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None

    def check(self) -> None:
        """Raises UserError unless the file held the bytes of this checksum ever since it was taken."""
        with contextlib.suppress(OSError, UserError):  # it is gone, or changes while it is hashed again
            if self._settled and _state(self.path) == self._state:
                return
            if not self._settled:
                again = Content(self.path, large=self._large, settled=self._seconds)
                if (again.sha256, again._state) == (self.sha256, self._state):
                    self._settled = again._settled
                    return
        raise changed(self.path)

    def _hash(self) -> str:
        found = sha256_of(self.path)
        if _state(self.path) != self._state:
            raise changed(self.path)
        if self._trusted:
            with contextlib.suppress(OSError, UserError), atomic_write(self._memory, "w") as handle:  # never needed
                handle.write(found)
        return found

    def _recall(self) -> str | None:
        if self._trusted:
            with contextlib.suppress(OSError, UserError, UnicodeDecodeError):
                if re.fullmatch("[0-9a-f]{64}", text := self._memory.read_text()):
                    return text
        return None

    @property
    def _trusted(self) -> bool:
        """Whether the state alone says what the bytes are, and hashing takes long enough to remember it."""
        return self._settled and self._state.size >= self._large

    @property
    def _memory(self) -> Path:
        key = "\n".join(map(str, (self.path.resolve(), *self._state)))
        return cache_folder() / "checksums" / hashlib.sha256(os.fsencode(key)).hexdigest()


def changed(path: Path | str) -> UserError:
    """The error for a file whose bytes may not all belong to one checksum."""
    return UserError(f"{path}: changed while it was read. Start again.")


def _state(path: Path) -> State:
    found = path.stat()
    return State(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
