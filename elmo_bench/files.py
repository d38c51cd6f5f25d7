"""Reading text that people wrote, and writing files that are either whole or absent."""

import contextlib
import errno
import gzip
import hashlib
import lzma
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from elmo_bench.errors import UserError

STANDARD_INPUT = Path("-")
_OPENERS = {".gz": gzip.open, ".xz": lzma.open}


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) of a UTF-8 text file; plain, `.gz` or `.xz`; CRLF and a BOM are read.

    `-` is standard input. Raises UserError, with file and line, where the file is missing, cut off, or not UTF-8.
    """
    number = 0
    try:
        with _open(path) as lines:
            for number, raw in enumerate(lines, start=1):
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}:{number}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise UserError(f"{path}: damaged or cut off after line {number} ({error})") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def _open(path: Path) -> IO[bytes]:
    if path == STANDARD_INPUT:
        return open(0, "rb", closefd=False)
    return _OPENERS.get(path.suffix, open)(path, "rb")  # type: ignore[operator]


@contextlib.contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO]:
    """A file handle whose contents appear at `path` whole, when the block ends, or not at all.

    Raises UserError where the disk is full or the folder cannot be written.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            mode, dir=path.parent, prefix=f".{path.name}.", delete=False, encoding=None if "b" in mode else "utf-8"
        ) as handle:
            temporary = Path(handle.name)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(f"{path}: the disk is full; nothing was written, free some space and start again") from None
        if isinstance(error, PermissionError):
            raise UserError(f"{path}: no permission to write here") from None
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
