"""Reading text files from users, writing files atomically, and checkpoints, which a kill or a disk may have damaged."""

import codecs
import contextlib
import errno
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from elmo_bench.base.encodings import check_first, not_utf8
from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.reading import check_regular, reader, reading

STANDARD_INPUT = Path("-")
PATIENCE = 0.2  # seconds that a lock is waited for: `holder_of` of the ledger takes one for a moment
LONGEST_LINE = 2**28  # bytes: a few compressed kilobytes may hold a line of gigabytes
DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)  # of what `open_text` opens
_MEMORY = 2**30  # bytes that xz may use; its strongest preset needs 65 MiB


@reader
def read_lines(path: Path, *, crlf: bool = False, pipe: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without newline) of a UTF-8 text file, plain or `.gz`, `.xz`.

    CRLF and a BOM are accepted and noted, CRLF not where it is usual (`crlf`). `-` is standard input; a named pipe is
    read only with `pipe`. Raises UserError with file and line if the file is missing, cut off, or not UTF-8, and for a
    line of more than 256 MiB.
    """
    number = 0
    try:
        with open_text(path, pipe=pipe) as handle:
            told = crlf
            for number, raw in enumerate(iter(partial(handle.readline, LONGEST_LINE + 1), b""), start=1):
                if number == 1:
                    check_first(path, raw)
                if number == 1 and raw.startswith(codecs.BOM_UTF8):
                    note("begins with a byte order mark, which is left out", path)
                if not told and raw.endswith(b"\r\n"):
                    note(f"line {number} ends in CRLF, which is read as the end of a line", path)
                    told = True
                if len(raw) > LONGEST_LINE:
                    raise UserError(f"{path}:{number}: a line of more than {LONGEST_LINE:,} bytes. Break it up.")
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if number == 1 and not crlf and "\r" in text and not raw.endswith(b"\n"):
                    raise UserError(f"{path}: its lines end in CR alone. Convert them: tr '\\r' '\\n'")
                yield number, text
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise _not_utf8(path, number, error, pipe=pipe) from None
    except DAMAGE as error:
        raise UserError(f"{path}: damaged or cut off after line {number} ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def _not_utf8(path: Path, number: int, error: UnicodeDecodeError, *, pipe: bool) -> UserError:
    """The error for a line that is not UTF-8; it says which encoding the file may have."""
    if pipe or not path.is_file():
        return not_utf8(path, number, error, [error.object])
    try:
        with open_text(path) as handle:
            return not_utf8(path, number, error, iter(partial(handle.readline, LONGEST_LINE), b""))
    except (OSError, *DAMAGE):
        return not_utf8(path, number, error, [error.object])


class _Xz(io.RawIOBase):
    """An xz file of any number of streams; zero bytes between them are skipped.

    EOFError if the last stream is cut off; an error if anything else follows, where the reader of lzma ends without a
    word.
    """

    def __init__(self, path: Path):
        self.blocks, self.ready = self._unpacked(path), memoryview(b"")

    @staticmethod
    def _unpacked(path: Path) -> Iterator[bytes]:
        stream = lzma.LZMADecompressor(memlimit=_MEMORY)
        with path.open("rb") as file:
            for block in iter(partial(file.read, 2048), b""):  # at most 15 MiB of text, usually 7 KiB
                packed = block
                while packed:
                    if stream.eof and (packed := packed.lstrip(b"\0")):
                        stream = lzma.LZMADecompressor(memlimit=_MEMORY)
                    if packed:
                        yield stream.decompress(packed)
                        packed = stream.unused_data if stream.eof else b""
        if not stream.eof:
            raise EOFError("the last stream has no end")

    def readable(self) -> bool:
        return True

    def readinto(self, into) -> int:
        while not self.ready:
            if (block := next(self.blocks, None)) is None:
                return 0
            self.ready = memoryview(block)
        size = min(len(into), len(self.ready))
        into[:size], self.ready = self.ready[:size], self.ready[size:]
        return size


_OPENERS: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".xz": _Xz}


def is_packed(path: Path) -> bool:
    """Whether `open_text` unpacks the file, by the ending of its name."""
    return path.suffix in _OPENERS


def open_text(path: Path, *, pipe: bool = False) -> IO[bytes]:
    """The bytes of a file, plain or `.gz`, `.xz`; `-` is standard input. Reading raises OSError or DAMAGE.

    Raises UserError unless it is a regular file, or a named pipe with `pipe`.
    """
    if not pipe:
        check_regular(path)
    if path == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    if path.suffix == ".zst":
        raise UserError(f"{path}: is not read. Unpack it: zstd -dc {path.name} | xz > {path.stem}.xz")
    if opener := _OPENERS.get(path.suffix):
        return io.BufferedReader(opener(path), 2**18)  # lines come faster
    return path.open("rb")


@reader
def unpack(archive: Path, name: str, path: Path) -> None:
    """Write the member `name` of a zip archive to `path`, atomically. Raises UserError."""
    sound = reading(archive, f"a zip archive with {name}", "Delete it and start again.")
    with sound, zipfile.ZipFile(archive) as files, files.open(name) as member, atomic_write(path) as target:
        shutil.copyfileobj(member, target)


# Why the system may refuse a file that is to be written.
_REFUSED = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ENOTDIR,
    errno.EEXIST, errno.EISDIR, errno.EBUSY, errno.ENAMETOOLONG,
)  # fmt: skip
# safetensors and HDF5 keep the system's text alone; without $HOME, pathlib says no more.
_TEXTS = (os.strerror(errno.ENOSPC), os.strerror(errno.EFBIG), "Could not determine home directory")


def refusal(error: BaseException | None, where: str | Path) -> UserError | None:
    """The line for users if the system refused a file, or a GPU memory, at any distance from this error; else None.

    `where` is named unless the system named a file.
    """
    while error is not None:
        if type(error).__name__ == "OutOfMemoryError":  # of torch, which most commands do not import
            said = ". ".join(str(error).split(". ")[:3])  # how much was asked for, and how much there is
            advice = getattr(error, "__notes__", ["Run fewer side by side, or give smaller batches."])[0]
            return UserError(f"{said}. {advice}")
        number = getattr(error, "errno", None)
        why = os.strerror(number) if number in _REFUSED else next((each for each in _TEXTS if each in str(error)), None)
        if why is not None:
            file = getattr(error, "filename", None) or where
            return UserError(f"{file}: {why}. Free some space, or choose another place.")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None


@contextlib.contextmanager
def disk_errors(where: str | Path) -> Iterator[None]:
    """Raise errors of the disk, such as a full or read-only one, as a UserError that names `where`."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if (refused := refusal(error, where)) is None:
            raise
        raise refused from error


@contextlib.contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO]:
    """A file handle whose contents replace `path` atomically when the block ends; the user's umask sets the mode.

    Raises UserError if the disk refuses; an earlier file at `path` then stays.
    """
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
    with disk_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError:
            raise UserError(f"{path.parent}: no folder can be made there. Choose another folder.") from None
        try:
            with temporary.open(mode.replace("w", "x"), encoding=None if "b" in mode else "utf-8") as handle:
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


@contextlib.contextmanager
def locked(path: Path, content: str, *, held: UserError) -> Iterator[None]:
    """Hold a lock file, with this content, while the block runs; the file is removed with the lock.

    The lock is a `FileLock` of the package filelock, that is flock(2). It ends with the process, however that ends. A
    network disk passes it between machines if its server does (NFS from version 4, Lustre mounted with `flock`).
    Raises `held` if another process (or block) holds it, and UserError if the folder cannot be written or locked.
    """
    from filelock import FileLock, Timeout  # most commands lock nothing

    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path, timeout=PATIENCE, fallback_to_soft=False)
            lock.acquire(poll_interval=0.01)
            # Unlinked while held: filelock notices that the file has lost its name, so nobody locks one without a name.
            stack.callback(lock.release)
            stack.callback(path.unlink, missing_ok=True)
            path.write_text(content, encoding="utf-8")  # filelock (from version 4) leaves it alone
        except Timeout:
            raise held from None
        except OSError as error:
            why = UserError(f"{path}: cannot be locked ({error.strerror or error})")
            raise refusal(error, path) or why from None
        yield


def remove_unfinished(folder: Path) -> None:
    """Remove what processes that were killed in `atomic_write` left in a folder that nobody else writes to."""
    for path in folder.glob(".*"):
        if re.fullmatch(r"\..+\.[0-9a-f]{8}", path.name) and path.is_file():
            with contextlib.suppress(OSError):
                path.unlink()


def keep_inputs(out: Path, inputs: Iterable[Path]) -> None:
    """Raises UserError if the file to write is one of the files to read, under any name."""
    if out.exists() and any(path.exists() and out.samefile(path) for path in inputs):
        raise UserError(f"{out}: this file is read too, and would be overwritten. Give another name for the output.")


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
def read_checkpoint(path: Path, advice: str = "Remove it and start again.") -> dict[str, Any]:
    """A checkpoint's tensors and plain data, on the CPU; nothing in the file is executed. Raises UserError."""
    import torch

    with reading(path, "a checkpoint", advice):
        with zipfile.ZipFile(path) as archive:  # torch writes checksums, but does not check them
            if (name := archive.testzip()) is not None:
                raise ValueError(f"the checksum of {name} is wrong")
        state = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(state, dict):
            raise TypeError("not a mapping")
    return state
