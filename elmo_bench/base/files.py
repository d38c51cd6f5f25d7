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
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import zstandard

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader, reading

STANDARD_INPUT = Path("-")
LONGEST_LINE = 2**28  # bytes: a few compressed kilobytes may hold a line of gigabytes
DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zstandard.ZstdError)  # of what `open_text` opens
_MEMORY = 2**30  # bytes that xz may use; its strongest preset needs 65 MiB


@reader
def read_lines(path: Path, *, longest: int | None = None, crlf: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without newline) of a UTF-8 text file, plain or `.gz`, `.xz`, `.zst`.

    CRLF and a BOM are accepted and noted, CRLF not where it is usual (`crlf`). `-` is standard input. A line of more
    than `longest` characters may be truncated, but stays longer than `longest`: about four times `longest` bytes are in
    memory at most. Raises UserError with file and line if the file is missing, cut off, or not UTF-8, and for a line of
    more than 256 MiB.
    """
    number = 0
    size = LONGEST_LINE + 1 if longest is None else 4 * (longest + 3)  # bytes; 3 for a BOM and CRLF
    try:
        with open_text(path) as handle:
            told = crlf
            for number, raw in enumerate(iter(partial(handle.readline, size), b""), start=1):
                if number == 1 and raw.startswith(codecs.BOM_UTF8):
                    note("begins with a byte order mark, which is left out", path)
                if not told and raw.endswith(b"\r\n"):
                    note(f"line {number} ends in CRLF, which is read as the end of a line", path)
                    told = True
                cut = len(raw) == size and not raw.endswith(b"\n")
                if cut and longest is None:
                    raise UserError(f"{path}:{number}: a line of more than {LONGEST_LINE:,} bytes. Break it up.")
                while cut and (rest := handle.readline(size)) and not rest.endswith(b"\n"):
                    pass
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace" if cut else "strict")
                text = text.rstrip("\r\n")
                if number == 1 and not crlf and "\r" in text and not raw.endswith(b"\n"):
                    raise UserError(f"{path}: its lines end in CR alone. Convert them: tr '\\r' '\\n'")
                yield number, text
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}:{number}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    except DAMAGE as error:
        raise UserError(f"{path}: damaged or cut off after line {number} ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


class _Frames(io.RawIOBase):
    """A compressed file of any number of frames, made by `begin`; zero bytes between frames are skipped.

    EOFError if the last frame is cut off, which zstandard's reader hides; an error if anything else follows, where the
    reader of lzma ends without a word.
    """

    def __init__(self, begin: Callable[[], Any], path: Path):
        self.blocks, self.ready = self._unpacked(begin, path), memoryview(b"")

    @staticmethod
    def _unpacked(begin: Callable[[], Any], path: Path) -> Iterator[bytes]:
        frame = begin()
        with path.open("rb") as file:
            # 2 KiB hold at most 64 MiB of text (a block of 4 bytes may be 128 KiB), usually 7 KiB.
            for block in iter(partial(file.read, 2048), b""):
                packed = block
                while packed:
                    if frame.eof and (packed := packed.lstrip(b"\0")):
                        frame = begin()
                    if packed:
                        yield frame.decompress(packed)
                        packed = frame.unused_data if frame.eof else b""
        if not frame.eof:
            raise EOFError("the last frame has no end")

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


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".xz": partial(_Frames, partial(lzma.LZMADecompressor, memlimit=_MEMORY)),
    ".zst": partial(_Frames, lambda: zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()),
}


def is_packed(path: Path) -> bool:
    """Whether `open_text` unpacks the file, by the ending of its name."""
    return path.suffix in _OPENERS


def open_text(path: Path) -> IO[bytes]:
    """The bytes of a file, plain or `.gz`, `.xz`, `.zst`; `-` is standard input. Reading raises OSError or DAMAGE."""
    if path == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    if opener := _OPENERS.get(path.suffix):
        return io.BufferedReader(opener(path), 2**18)  # lines come faster
    return path.open("rb")


@reader
def unpack(archive: Path, name: str, path: Path) -> None:
    """Write the member `name` of a zip archive to `path`, atomically. Raises UserError."""
    with atomic_write(path) as target:
        target.writelines(_member(archive, name))


def _member(archive: Path, name: str) -> Iterator[bytes]:
    sound = reading(archive, f"a zip archive with {name}", "Delete it and start again.")
    with sound, zipfile.ZipFile(archive) as files, files.open(name) as member:
        yield from iter(partial(member.read, 2**20), b"")


# Why the system may refuse a file, and what to do.
_REFUSALS = {
    errno.ENOSPC: "the disk is full. Free some space and start again.",
    errno.EDQUOT: "the disk quota is used up. Free some space and start again.",
    errno.EFBIG: "larger than a file may be here. Raise the limit (ulimit -f), or choose another disk.",
    errno.EROFS: "on a read-only file system. Choose another folder.",
    errno.EACCES: "no permission. Choose another folder.",
    errno.EPERM: "no permission. Choose another folder.",
    errno.EIO: "the disk reports an error. Check it, or choose another folder.",
    errno.ENOTDIR: "a file is where a folder is needed. Choose another folder.",
    errno.EEXIST: "a file is where a folder is needed. Choose another folder.",
    errno.EISDIR: "a folder is where a file is needed. Choose another name.",
    errno.EBUSY: "in use by the system. Choose another name.",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one.",
}
_TEXTS = {  # of errors that are no OSError: safetensors and HDF5 keep the system's text alone
    **{os.strerror(number): _REFUSALS[number] for number in (errno.ENOSPC, errno.EFBIG)},
    "determine home directory": "no home folder is known. Set $HOME.",
}


SMALLER = "task.training.batch=8"


def refusal(error: BaseException | None, where: str | Path) -> UserError | None:
    """The line for users if the system refused a file, or a GPU memory, at any distance from this error; else None.

    `where` is named unless the system named a file.
    """
    while error is not None:
        if type(error).__name__ == "OutOfMemoryError":  # of torch, which most commands do not import
            said = ". ".join(str(error).split(". ")[:3])  # how much was asked for, and how much there is
            return UserError(f"{said}. Give smaller batches, such as {SMALLER}, or run fewer side by side.")
        if isinstance(error, OSError) and error.errno in _REFUSALS:
            return UserError(f"{error.filename or where}: {_REFUSALS[error.errno]}")
        for text, why in _TEXTS.items():
            if text in str(error):
                return UserError(f"{where}: {why}")
        error = error.__cause__ or error.__context__
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


def remove_unfinished(folder: Path) -> None:
    """Remove what processes that were killed in `atomic_write` left anywhere in a folder that nobody else writes to."""
    for path in folder.rglob(".*"):
        if re.fullmatch(r"\..+\.[0-9a-f]{8}", path.name) and path.is_file():
            with contextlib.suppress(OSError):
                path.unlink()


def keep_inputs(out: Path, inputs: Iterable[Path]) -> None:
    """Raises UserError if the file to write is one of the files to read, under any name."""
    if out.exists() and any(path.exists() and out.samefile(path) for path in inputs):
        raise UserError(f"{out}: this file is read too, and would be overwritten. Give another name for the output.")


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
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
