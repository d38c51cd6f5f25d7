"""Files that stand behind a name or an address: brought to the cache folder once, the same ever after.

The cache folder is `$ELMO_BENCH_CACHE`, by default `~/.cache/elmo-bench`. Beside a file in it lies `<file>.sha256` (as
`sha256sum` writes it): the published checksum, else the one recorded when the file was first read. A file that was put
there by hand counts as well. `$ELMO_BENCH_OFFLINE=1` (or `$HF_HUB_OFFLINE=1`): nothing is downloaded.
`$ELMO_BENCH_MIRROR=https://host/folder` stands in for scheme and host of the published addresses.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, sha256_of
from elmo_bench.base.progress import console
from elmo_bench.base.transfer import TransferError, transfer


def cache_folder() -> Path:
    """Where files that can be made or fetched again are kept."""
    return Path(os.environ.get("ELMO_BENCH_CACHE") or Path.home() / ".cache" / "elmo-bench")


def offline() -> bool:
    """Whether the user wants nothing to come from the network."""
    switches = (os.environ.get(name, "") for name in ("ELMO_BENCH_OFFLINE", "HF_HUB_OFFLINE"))
    return any(switch.lower() in ("1", "true", "yes", "on") for switch in switches)


def mirrored(url: str) -> str:
    """A published address, on the user's mirror where there is one."""
    mirror = os.environ.get("ELMO_BENCH_MIRROR")
    return mirror.rstrip("/") + urlsplit(url).path if mirror else url


def fetch(url: str, path: Path, *, sha256: str | None = None, by_hand: str | None = None) -> Path:
    """`path`, downloaded from `url` if it is not there; whole or not at all, by one process at a time.

    `sha256` is the published checksum; `by_hand` says, in an error, what a user can do instead. Raises UserError where
    the file cannot be had, or is not the one expected.
    """
    if not path.is_file():
        try:
            if offline():
                raise TransferError("not downloaded yet, and $ELMO_BENCH_OFFLINE or $HF_HUB_OFFLINE is set")
            path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(path):
                if not path.is_file():
                    _bring(url, path, sha256)
        except TransferError as error:
            instead = by_hand or f"put that file at {path}"
            raise UserError(f"{shown(url)}: {error}; by hand: {instead}") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror or error})") from None
    if sha256:
        record(path, sha256)
    return path


def verify(path: Path, checksum: str) -> None:
    """Hold a file's SHA-256 against the one recorded beside it, if any; raises UserError where they differ."""
    if (recorded := _recorded(path)) and recorded != checksum:
        raise UserError(
            f"{path}: damaged or changed (SHA-256 {checksum[:12]}…, recorded {recorded[:12]}…); delete it to have it "
            f"fetched again, or delete {_record(path).name} if the change is meant"
        )


def record(path: Path, checksum: str) -> None:
    """Write down what the SHA-256 of a file in the cache folder has to be, if nothing is recorded: the first counts."""
    if path.is_relative_to(cache_folder()) and not _recorded(path):
        # A cache may be there to be read only.
        with contextlib.suppress(UserError, OSError), atomic_write(_record(path), "w") as handle:
            handle.write(f"{checksum}  {path.name}\n")


def shown(url: str) -> str:
    """An address as a message may show it: without password and query, which may hold a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _bring(url: str, path: Path, sha256: str | None) -> None:
    console.print(f"downloading {shown(url)} to {path}", highlight=False, markup=False)
    part = path.with_name(f"{path.name}.part")
    transfer(url, part)
    expected = sha256 or _recorded(path)
    if expected and sha256_of(part) != expected:
        part.unlink()
        whose = "published" if sha256 else f"recorded in {_record(path)} (delete that if the change is meant)"
        raise TransferError(f"what came does not have the SHA-256 {whose}")
    part.replace(path)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the file's lock; it ends with the process, and its file goes with it."""
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        lock.acquire(timeout=0.5)
    except Timeout:
        console.print(f"another process downloads {path.name}: waiting for it", highlight=False, markup=False)
        lock.acquire()
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)  # while held: nobody ends up with a lock on a ghost
        lock.release()


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _recorded(path: Path) -> str | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if found := re.match(r"[0-9a-f]{64}\b", _record(path).read_text(encoding="utf-8")):
            return found[0]
    return None
