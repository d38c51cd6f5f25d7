"""Published files, downloaded once to the cache folder and verified by checksum; checksums of what a run reads.

The cache folder is `$ELMO_BENCH_CACHE`, by default `~/.cache/elmo-bench`. A file that the user put there counts, too.
With `$ELMO_BENCH_OFFLINE=1` (or `$HF_HUB_OFFLINE=1`) nothing is downloaded. `$ELMO_BENCH_MIRROR=https://host/folder`
replaces scheme and host of the published addresses.
"""

import contextlib
import hashlib
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from filelock import FileLock

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.files import atomic_write, disk_errors, sha256_of
from elmo_bench.base.progress import console, progress

if TYPE_CHECKING:
    from requests import Response


CONNECT, READ = 10.0, 60.0  # seconds to wait for a connection, and for the next bytes
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before each new try
TRANSIENT = (408, 429, 500, 502, 503, 504)  # HTTP statuses after which another try may work


class DownloadError(Exception):
    """Why a file could not be downloaded, in a few words; another try would not help."""


def cache_folder() -> Path:
    """The folder of files that can be made or downloaded again. Raises UserError without a home."""
    if named := os.environ.get("ELMO_BENCH_CACHE"):
        return Path(named)
    try:
        return Path.home() / ".cache" / "elmo-bench"
    except RuntimeError:  # neither $HOME nor an entry in the list of users
        raise UserError("no home folder is known. Set $HOME or $ELMO_BENCH_CACHE.") from None


def offline() -> bool:
    """Whether the user forbids network access."""
    switches = (os.environ.get(name, "") for name in ("ELMO_BENCH_OFFLINE", "HF_HUB_OFFLINE"))
    return any(switch.lower() in ("1", "true", "yes", "on") for switch in switches)


def mirrored(url: str) -> str:
    """A published address, on the user's mirror if one is set."""
    mirror = os.environ.get("ELMO_BENCH_MIRROR")
    return mirror.rstrip("/") + urlsplit(url).path if mirror else url


def fetch(url: str, path: Path, *, sha256: str | None = None, by_hand: str | None = None) -> Path:
    """Download `url` to `path` if there is no such file, atomically and by one process at a time; returns `path`.

    `sha256` is the published checksum. `by_hand` tells the user what to do instead. Raises UserError if the download
    fails or has a different checksum.
    """
    if not path.is_file():
        try:
            if offline():
                raise DownloadError("not downloaded yet, and $ELMO_BENCH_OFFLINE or $HF_HUB_OFFLINE is set. Unset it")
            with disk_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                with FileLock(f"{path}.lock"):  # ends with the process
                    if not path.is_file():  # another process may have downloaded it
                        console.print(f"downloading {redacted(url)} to {path}", highlight=False, markup=False)
                        _download(url, path, sha256)
                    Path(f"{path}.lock").unlink(missing_ok=True)  # another process finds the file
        except DownloadError as error:
            raise UserError(f"{url}: {error}. Or {by_hand or f'put that file at {path}'}.") from None
    return path


def _download(url: str, path: Path, checksum: str | None) -> None:
    """Bring a file to `path`, over several tries. Raises DownloadError."""
    import requests  # here: it takes a third of a second, and most runs download nothing

    session, headers = requests.Session(), {"Accept-Encoding": "identity"}
    if url.startswith("https:"):
        session.adapters.pop("http://")  # no redirect leaves TLS
    for pause in (*PAUSES, None):
        response = None
        try:
            with session.get(url, headers=headers, stream=True, timeout=(CONNECT, READ)) as response:
                _save(response, path, checksum)
            return
        except requests.exceptions.InvalidSchema:
            raise DownloadError("redirected away from https") from None
        except requests.RequestException as error:
            answer = getattr(error, "response", None)
            reason = f"HTTP {answer.status_code}" if answer is not None else _reason(error)
            if response is None and not isinstance(error, requests.Timeout):  # there is no such server, or no network
                raise DownloadError(reason) from None
        if pause is not None:
            time.sleep(pause)
    raise DownloadError(f"{reason}, after {len(PAUSES) + 1} tries")


def _save(response: "Response", path: Path, checksum: str | None) -> None:
    """Write what a server answers. Raises DownloadError."""
    status, length, digest = response.status_code, response.headers.get("Content-Length", ""), hashlib.sha256()
    if status in TRANSIENT:
        response.raise_for_status()
    if status != 200:
        raise DownloadError(f"HTTP {status}")
    total = int(length) // 10**6 if length.isdigit() else None
    with atomic_write(path) as handle, progress(f"{path.name}, MB", total=total) as meter:
        for piece in response.iter_content(2**16):
            handle.write(piece)
            digest.update(piece)
            meter.advance(steps=handle.tell() // 10**6 - meter.steps)
        if checksum and digest.hexdigest() != checksum:
            raise DownloadError("the download does not have the SHA-256 published")


def _reason(error: BaseException | None) -> str:
    """What the system said about a failed connection; the error itself would show the address."""
    reason = "the connection was cut"
    while error is not None:
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror.lower()
        error = error.__cause__ or error.__context__
    return reason


LARGE = 64 * 2**20  # bytes; a smaller file is hashed at every start, in a fraction of a second
SETTLED = 5.0  # seconds; no file system in use keeps times more coarsely than 2


class Content:
    """The SHA-256 of a file that is read next. Take it, read the file, call `check`, and only then use what was read.

    `check` compares the file's state: whoever writes to the file or sets its time of modification back sets its time of
    change to the present, which no program can choose; a file renamed over it has another inode.

    The checksum of a large file is remembered in the cache folder under path and state, and trusted for as long as the
    state is the same. The file must be settled: a later change within one tick of the file system's clock would not
    show in the times of a younger one.
    """

    def __init__(self, path: Path, *, large: int = LARGE, settled: float = SETTLED):
        """`large`: bytes from which a file is large; `settled`: seconds. Raises UserError if it cannot be read."""
        self.path = path
        try:
            self._state = size, *times, _ = _state(path)
            key = hashlib.sha256(os.fsencode("\n".join(map(str, (path.resolve(), *self._state))))).hexdigest()
            trusted = size >= large and time.time() - max(times) / 1e9 >= settled
            self.sha256 = self._checksum(cache_folder() / "checksums" / key if trusted else None)
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None

    def check(self) -> None:
        """Raises UserError unless the file held the bytes of this checksum ever since it was taken."""
        with contextlib.suppress(OSError):  # it is gone
            if _state(self.path) == self._state:
                return
        raise changed(self.path)

    def _checksum(self, remembered: Path | None) -> str:
        """The hash of the file; `remembered` is where it is kept."""
        if remembered is None:
            return sha256_of(self.path)
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if re.fullmatch("[0-9a-f]{64}", text := remembered.read_text()):
                return text
        checksum = sha256_of(self.path)
        self.check()
        with contextlib.suppress(OSError, UserError), atomic_write(remembered, "w") as handle:  # never needed
            handle.write(checksum)
        return checksum


def changed(path: Path | str) -> UserError:
    """The error for a file whose bytes may not all belong to one checksum."""
    return UserError(f"{path}: changed while it was read. Start again.")


def _state(path: Path) -> tuple[int, int, int, int]:
    """What the system says about a file without reading it: bytes, nanoseconds of modification and of change, inode."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
