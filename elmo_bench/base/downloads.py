"""Published files, downloaded once to the cache folder and verified by checksum.

Also checksums of the files that a run reads.

The cache folder is `$ELMO_BENCH_CACHE`, by default `~/.cache/elmo-bench`. A file that
the user put there counts, too. With `$ELMO_BENCH_OFFLINE=1` (or `$HF_HUB_OFFLINE=1`)
nothing is downloaded. `$ELMO_BENCH_MIRROR=https://host/folder` replaces scheme and host
of the published addresses.
"""

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from filelock import FileLock

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.files import atomic_write, disk_errors, not_locked, sha256_of
from elmo_bench.base.partial import NO_RANGE, OK, PARTIAL, DownloadError, Partial
from elmo_bench.base.progress import console
from elmo_bench.base.refusals import make_folder

if TYPE_CHECKING:
    from requests import Response


CONNECT = 10.0  # seconds to wait for a connection
READ = 60.0  # seconds to wait for the next bytes
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before each new try
# HTTP statuses after which another try may work.
TRANSIENT = (408, 429, 500, 502, 503, 504)


def cache_folder() -> Path:
    """The folder of files that can be made or downloaded again.

    Raises UserError without a home.
    """
    folder = os.environ.get("ELMO_BENCH_CACHE")
    try:
        if folder:
            return Path(folder).expanduser()
        return Path.home() / ".cache" / "elmo-bench"
    except RuntimeError:  # neither $HOME nor an entry in the list of users
        raise UserError(
            "no home folder is known. Set $HOME or $ELMO_BENCH_CACHE."
        ) from None


def data_folder() -> str | None:
    """The folder of the user's data in `$ELMO_BENCH_DATA`; None if that is empty."""
    return os.environ.get("ELMO_BENCH_DATA") or None


_local = ContextVar("_local", default=False)


@contextlib.contextmanager
def local_files_only() -> Iterator[None]:
    """In the block, nothing is downloaded, whatever the user allows."""
    token = _local.set(True)
    try:
        yield
    finally:
        _local.reset(token)


def offline() -> bool:
    """Whether the user, or `local_files_only`, forbids network access."""
    if _local.get():
        return True
    for name in ("ELMO_BENCH_OFFLINE", "HF_HUB_OFFLINE"):
        if os.environ.get(name, "").lower() in ("1", "true", "yes", "on"):
            return True
    return False


def mirrored(url: str) -> str:
    """A published address, on the user's mirror if one is set."""
    mirror = os.environ.get("ELMO_BENCH_MIRROR")
    if not mirror:
        return url
    return mirror.rstrip("/") + urlsplit(url).path


def hub_endpoint() -> str | None:
    """The address of the Hugging Face Hub in `$HF_ENDPOINT`; None: the usual one."""
    return os.environ.get("HF_ENDPOINT") or None


def fetch(
    url: str, path: Path, *, sha256: str | None = None, by_hand: str | None = None
) -> Path:
    """Download `url` to `path` unless this file exists; returns `path`.

    The file is written atomically and by one process at a time. An interrupted download
    resumes where it ended if the server can; after a kill, too, if `sha256`, the
    published checksum, can verify the result. `by_hand`: the error's advice on what to
    do instead. Raises UserError if the download fails or has a different checksum.
    """
    if path.is_file():
        return path
    try:
        if offline():
            raise DownloadError(
                "not downloaded yet, and $ELMO_BENCH_OFFLINE or $HF_HUB_OFFLINE is set."
                " Unset it"
            )
        with disk_errors(path):
            _fetch_once(url, path, sha256)
    except DownloadError as error:
        instead = by_hand or f"put that file at {path}"
        raise UserError(f"{url}: {error}. Or {instead}.") from None
    return path


def _fetch_once(url: str, path: Path, checksum: str | None) -> None:
    """Download a file unless another process does.

    Raises DownloadError, and UserError if the folder cannot be locked.
    """
    make_folder(path.parent)
    lock = Path(f"{path}.lock")
    held = FileLock(lock, fallback_to_soft=False)  # ends with the process
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(held)
        except OSError as error:
            raise not_locked(error, lock) from None
        if not path.is_file():  # another process may have downloaded it
            line = f"downloading {redacted(url)} to {path}"
            console.print(line, highlight=False, markup=False)
            _download(url, path, checksum)
        lock.unlink(missing_ok=True)  # another process finds the file


def _download(url: str, path: Path, checksum: str | None) -> None:
    """Download a file to `path`, over several tries. Raises DownloadError."""
    # Here: it takes a third of a second, and most runs download nothing.
    import requests

    session = requests.Session()
    if url.startswith("https:"):
        session.adapters.pop("http://")  # no redirect leaves TLS
    with Partial(path, checksum) as partial:
        for pause in (*PAUSES, None):
            response = None
            try:
                with session.get(
                    url,
                    headers={"Accept-Encoding": "identity", **partial.wanted()},
                    stream=True,
                    timeout=(CONNECT, READ),
                ) as response:
                    _check_status(response)
                    partial.save(response)
                if partial.finish():
                    return
                reason = "the part of an earlier download does not fit"
                continue
            except requests.exceptions.InvalidSchema:
                raise DownloadError("redirected away from https") from None
            except requests.RequestException as error:
                reason = _reason(error)
                is_timeout = isinstance(error, requests.Timeout)
                if response is None and not is_timeout:  # no such server, no network
                    raise DownloadError(reason) from None
            if pause is not None:
                time.sleep(pause)
    raise DownloadError(f"{reason}, after {len(PAUSES) + 1} tries")


def _check_status(response: "Response") -> None:
    """Raises requests' error for a status that may pass, else DownloadError."""
    if response.status_code in TRANSIENT:
        response.raise_for_status()
    asked_for_rest = "Range" in response.request.headers
    if response.status_code != OK and not (
        asked_for_rest and response.status_code in (PARTIAL, NO_RANGE)
    ):
        raise DownloadError(f"HTTP {response.status_code}")


def _reason(error: BaseException) -> str:
    """Why a request failed: the server's status, or the reason of the system.

    The error itself would show the address.
    """
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP {response.status_code}"
    reason = "the connection was cut"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            reason = cause.strerror.lower()
        cause = cause.__cause__ or cause.__context__
    return reason


LARGE = 64 * 2**20  # bytes; a smaller file is hashed at every start, in a moment
SETTLED = 5.0  # seconds; no file system in use keeps times more coarsely than 2


class Content:
    """The SHA-256 of a file that is read next.

    Take it, read the file, call `check`, and only then use the content.

    `check` compares the file's state: whoever writes to the file or sets its time of
    modification back sets its time of change to the present, which no program can
    choose; a file renamed over it has another inode.

    The checksum of a large file is remembered in the cache folder under path and state,
    and trusted for as long as the state is the same. The file must be settled: a later
    change within one tick of the file system's clock would not show in the times of a
    younger one.
    """

    def __init__(self, path: Path, *, large: int = LARGE, settled: float = SETTLED):
        """Raises UserError if the file cannot be read.

        large: bytes from which a file is large. settled: seconds.
        """
        self.path = path
        try:
            self._state = _state(path)
            size, *times, _ = self._state
            age = time.time() - max(times) / 1e9
            if size >= large and age >= settled:
                self.sha256 = self._remembered_checksum()
            else:
                self.sha256 = sha256_of(path)
        except OSError as error:
            why = error.strerror or error
            raise UserError(f"{path}: cannot be read ({why})") from None

    def check(self) -> None:
        """Raises UserError if the file has changed since the checksum was taken."""
        with contextlib.suppress(OSError):  # it is gone
            if _state(self.path) == self._state:
                return
        raise changed(self.path)

    def _remembered_checksum(self) -> str:
        """The checksum of a large file, from the cache folder if it is there."""
        state = "\n".join(map(str, (self.path.resolve(), *self._state)))
        key = hashlib.sha256(os.fsencode(state)).hexdigest()
        file = cache_folder() / "checksums" / key
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = file.read_text()
            if re.fullmatch("[0-9a-f]{64}", text):
                return text
        checksum = sha256_of(self.path)
        self.check()
        with (
            contextlib.suppress(OSError, UserError),  # nobody needs the file
            atomic_write(file, "w") as handle,
        ):
            handle.write(checksum)
        return checksum


def changed(path: Path | str) -> UserError:
    """The error for a file whose bytes may not all belong to one checksum."""
    return UserError(f"{path}: changed while it was read. Start again.")


def _state(path: Path) -> tuple[int, int, int, int]:
    """The system's data about a file, without reading it.

    Bytes, nanoseconds of modification and of change, inode.
    """
    state = path.stat()
    return state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino
