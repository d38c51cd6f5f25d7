"""Files of users, which a kill or a disk may have damaged.

Reading text files, writing files atomically, locks and checkpoints.
"""

import codecs
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import shutil
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from elmo_bench.base.encodings import check_first, not_utf8
from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.reading import AGAIN, check_pointer, check_regular, reader, reading
from elmo_bench.base.refusals import disk_errors, make_folder, refusal
from elmo_bench.base.unfinished import hold, remove_stale, unfinished
from elmo_bench.base.xz import Xz

STANDARD_INPUT = Path("-")
# Seconds that a lock is waited for: `holder_of` of the ledger takes one for a moment.
PATIENCE = 0.2
# Bytes: a few compressed kilobytes may hold a line of gigabytes.
LONGEST_LINE = 2**28
# Errors of files that `open_text` opens.
DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


@reader
def read_lines(
    path: Path, *, crlf: bool = False, pipe: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without newline) of a UTF-8 text file.

    The file is plain or `.gz`, `.xz`. CRLF and a BOM are accepted and noted, CRLF not
    where it is usual (`crlf`). `-` is standard input; a named pipe is read only with
    `pipe`. Raises UserError with file and line if the file is missing, cut off, or not
    UTF-8, and for a line of more than 256 MiB. Lines with NUL bytes are noted.
    """
    number = 0
    zeros: list[int] = []  # lines with a NUL byte
    try:
        with open_text(path, pipe=pipe) as handle:
            note_crlf = not crlf
            lines = iter(partial(handle.readline, LONGEST_LINE + 1), b"")
            for number, raw in enumerate(lines, start=1):
                if number == 1:
                    check_first(path, raw)
                if number == 1 and raw.startswith(codecs.BOM_UTF8):
                    note("begins with a byte order mark, which is left out", path)
                if note_crlf and raw.endswith(b"\r\n"):
                    end = "which is read as the end of a line"
                    note(f"line {number} ends in CRLF, {end}", path)
                    note_crlf = False
                if len(raw) > LONGEST_LINE:
                    raise UserError(
                        f"{path}:{number}: a line of more than {LONGEST_LINE:,} bytes. "
                        "Break it up."
                    )
                encoding = "utf-8-sig" if number == 1 else "utf-8"
                text = raw.decode(encoding).rstrip("\r\n")
                is_whole = number == 1 and not raw.endswith(b"\n")
                if is_whole and "\r" in text and not crlf:
                    raise UserError(
                        f"{path}: its lines end in CR alone. "
                        "Convert them: tr '\\r' '\\n'"
                    )
                if "\0" in text:
                    zeros.append(number)
                yield number, text
        note_zeros(path, zeros)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise _not_utf8(path, number, error, pipe=pipe) from None
    except DAMAGE as error:
        check_pointer(path)
        advice = AGAIN
        if number == 0:
            advice = f"If it is not packed, remove {path.suffix} from its name."
        raise UserError(
            f"{path}: damaged or cut off after line {number} ({error}). {advice}"
        ) from None
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"{path}: cannot be read ({why})") from None


def note_zeros(path: Path, lines: Sequence[int]) -> None:
    """Note the lines with NUL bytes (numbers from 1), if there are any."""
    if not lines:
        return
    which = f"line {lines[0]:,} has a NUL byte"
    if len(lines) > 1:
        which = f"{len(lines):,} lines have NUL bytes, the first is line {lines[0]:,}"
    note(f"{which}: the file may be damaged, or no text", path)


def _not_utf8(
    path: Path, number: int, error: UnicodeDecodeError, *, pipe: bool
) -> UserError:
    """The error for a line that is not UTF-8; it says which encoding may be used."""
    if pipe or not path.is_file():
        return not_utf8(path, number, error, [error.object])
    try:
        with open_text(path) as handle:
            lines = iter(partial(handle.readline, LONGEST_LINE), b"")
            return not_utf8(path, number, error, lines)
    except (OSError, *DAMAGE):
        return not_utf8(path, number, error, [error.object])


_OPENERS: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": Xz}
# What unpacks files of other endings.
_UNPACKED_BY = {".zst": "zstd -dc", ".bz2": "bzip2 -dc", ".zip": "unzip -p"}
_SPREADSHEETS = (".xlsx", ".ods")
_BUFFER = 2**18  # bytes: lines come faster


def is_packed(path: Path) -> bool:
    """Whether `open_text` unpacks the file, by the ending of its name."""
    return path.suffix.lower() in _OPENERS


def check_unpacked_name(path: Path) -> None:
    """Raise UserError for a file to write whose name ends as packed files do.

    Files are written unpacked.
    """
    if path.suffix.lower() in (*_OPENERS, *_UNPACKED_BY):
        raise UserError(
            f"{path}: the name of a packed file, and it is written unpacked. "
            f"Give a name without {path.suffix}."
        )


def open_text(path: Path, *, pipe: bool = False) -> IO[bytes]:
    """The bytes of a file, plain or `.gz`, `.xz`; `-` is standard input.

    Reading raises OSError or DAMAGE. Raises UserError unless it is a regular file, or a
    named pipe with `pipe`.
    """
    if not pipe:
        check_regular(path)
    if path == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    ending = path.suffix.lower()
    if ending in _UNPACKED_BY:
        how = f"Unpack it: {_UNPACKED_BY[ending]} {path.name} | xz > {path.stem}.xz"
        raise UserError(f"{path}: is not read. {how}")
    if ending in _SPREADSHEETS:
        raise UserError(f"{path}: is not read. Save it as CSV UTF-8.")
    opener = _OPENERS.get(ending)
    if opener:
        return io.BufferedReader(opener(path), _BUFFER)
    return path.open("rb")


@reader
def unpack(archive: Path, name: str, path: Path) -> None:
    """Write the member `name` of a zip archive to `path`, atomically.

    Raises UserError.
    """
    what = f"a zip archive with {name}"
    with (
        reading(archive, what, "Delete it and start again."),
        zipfile.ZipFile(archive) as files,
        files.open(name) as member,
        atomic_write(path) as target,
    ):
        shutil.copyfileobj(member, target)


@contextlib.contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO]:
    """A file handle whose contents replace `path` atomically when the block ends.

    The user's umask sets the permissions. A link at `path` is replaced, not followed.
    Raises UserError for a device or a pipe, and if the disk refuses; an earlier file at
    `path` then stays. Raises FileNotFoundError if another process
    removes the unfinished file. The first write of a process to a folder also removes
    what killed processes left there (see `remove_stale`).
    """
    check_regular(path, once=False)
    temporary = unfinished(path, uuid.uuid4().hex[:8])
    with disk_errors(path):
        make_folder(path.parent)
        remove_stale(path.parent)
        try:
            with _new_file(temporary, path, mode) as handle:
                hold(handle)
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(path)
        except OSError as error:
            if error.filename == str(temporary):
                error.filename = str(path)
            raise
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _new_file(temporary: Path, path: Path, mode: str) -> IO:
    """Open a new file that will replace `path`.

    Raises UserError in a folder that can have no files, such as /proc.
    """
    encoding = None if "b" in mode else "utf-8"
    try:
        return temporary.open(mode.replace("w", "x"), encoding=encoding)
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: cannot be made ({error.strerror}). Choose another folder."
        ) from None


@contextlib.contextmanager
def locked(path: Path, content: str, *, held: UserError) -> Iterator[None]:
    """Hold a lock file, with this content, while the block runs.

    The file is removed with the lock. The lock is a `FileLock` of the package filelock,
    that is flock(2). It ends with the process, however that ends. A network disk passes
    it between machines if its server does (NFS from version 4, Lustre mounted with
    `flock`). Raises `held` if another process (or block) holds it, and UserError if the
    folder cannot be written or locked.
    """
    from filelock import FileLock, Timeout  # most commands lock nothing

    with contextlib.ExitStack() as stack:
        try:
            make_folder(path.parent)
            lock = FileLock(path, timeout=PATIENCE, fallback_to_soft=False)
            lock.acquire(poll_interval=0.01)
            # Unlinked while held: filelock notices that the file has lost its name, so
            # nobody locks one without a name.
            stack.callback(lock.release)
            stack.callback(path.unlink, missing_ok=True)
            # filelock (from version 4) leaves the content alone.
            path.write_text(content, encoding="utf-8")
        except Timeout:
            raise held from None
        except OSError as error:
            raise not_locked(error, path) from None
        yield


def not_locked(error: OSError, path: Path) -> UserError:
    """The error for a file that the system does not lock."""
    why = error.strerror or error
    return refusal(error, path) or UserError(f"{path}: cannot be locked ({why})")


def keep_inputs(out: Path, inputs: Iterable[Path]) -> None:
    """Raises UserError if the file to write is a file to read, under any name."""
    if not out.exists():
        return
    for path in inputs:
        if path.exists() and out.samefile(path):
            raise UserError(
                f"{out}: this file is read too, and would be overwritten. "
                "Give another name for the output."
            )


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file's bytes. Raises UserError unless it is a regular file."""
    check_regular(path)
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def write_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write tensors and plain data atomically. Raises UserError if the disk refuses."""
    import torch  # here, so that `base` can be imported without it

    with atomic_write(path) as file:
        torch.save(dict(state), file)


@reader
def read_checkpoint(
    path: Path,
    advice: str = "Remove it and start again.",
    *,
    keys: Sequence[str] = (),
) -> dict[str, Any]:
    """A checkpoint's tensors and plain data, on the CPU.

    keys: what it has to have. Nothing in the file is executed. Raises UserError.
    """
    import torch

    with reading(path, "a checkpoint", advice):
        # torch writes checksums, but does not check them.
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"the checksum of {damaged} is wrong")
        state = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(state, dict):
            raise TypeError("not a mapping")
        for key in keys:
            if key not in state:
                raise KeyError(key)
    return state
