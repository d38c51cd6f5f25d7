"""Reading files that people or strangers made.

Every function that reads such a file carries `@reader`; tests/fuzz gives it damaged
files. tests/whole/test_house.py fails for a reader without such a test, and for a
module that opens files and has no reader. The readers of tasks are found through their
contract instead.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from elmo_bench.base.errors import UserError

# What Git LFS leaves in place of a file.
POINTER = b"version https://git-lfs.github.com/spec/"
AGAIN = "Make or download it again."
# Why the system may refuse to read a file whose bytes are good.
_REFUSED = (
    *(errno.EACCES, errno.EPERM, errno.EIO, errno.EAGAIN, errno.ENOLCK, errno.ESTALE),
    *(errno.EISDIR, errno.EMFILE, errno.ENFILE, errno.EBUSY, errno.ETIMEDOUT),
)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def reader(function: _Function) -> _Function:
    """Mark a function that reads a file which may come from anybody.

    Returns it unchanged.
    """
    return function


def check_regular(path: str | Path, *, once: bool = True) -> None:
    """Raise UserError for a pipe, a device or a socket, whose content may never end.

    Unless it is in /dev: `<(…)`. With `once=False`, for a file that is read more than
    once, also for these.
    """
    with suppress(OSError, ValueError):  # whoever opens it says why it cannot be read
        mode = os.stat(path).st_mode  # noqa: PTH116 (faster, of 20,000 records)
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return
        if once and str(path).startswith("/dev/"):
            return
        raise UserError(f"{path}: not a regular file. Give a file.")


@contextmanager
def reading(path: str | Path, what: str, advice: str = AGAIN) -> Iterator[None]:
    """Turn any error of a library that unpacks a binary file into a UserError.

    `what` is what the file should be, such as `a head`. The libraries raise a dozen
    kinds of errors for damaged bytes (h5py alone RuntimeError, KeyError, TypeError,
    AttributeError and more), so all kinds are caught: keep the block to the calls that
    read. Errors that are not of the bytes, such as a missing permission, are named as
    what they are. A pipe or a device is refused (see `check_regular`).
    """
    check_regular(path)
    try:
        yield
    except UserError:
        check_pointer(path)
        raise
    except FileNotFoundError:
        raise UserError(f"{path}: no such file. {advice}".rstrip()) from None
    except Exception as error:
        check_pointer(path)
        why = _reason(error)
        problem = _other_problem(error, why) or f"not {what}, or damaged ({why})"
        if not problem.endswith("."):
            problem = f"{problem}. {advice}".rstrip()
        raise UserError(f"{path}: {problem}") from None


def check_pointer(path: str | Path) -> None:
    """Raise UserError for a pointer of Git LFS in place of a file."""
    start = b""
    with suppress(OSError), Path(path).open("rb") as file:
        start = file.read(len(POINTER))
    check_pointer_in(start, path)


def check_pointer_in(content: bytes, where: str | Path) -> None:
    """Raise UserError for content that begins as a pointer of Git LFS does."""
    if content.startswith(POINTER):
        raise UserError(
            f"{where}: a pointer of Git LFS in place of the file. "
            "Get the file: git lfs pull"
        ) from None


def _other_problem(error: Exception, why: str) -> str | None:
    """What failed, with advice, where it was not the bytes of the file."""
    if isinstance(error, ImportError):
        return f"cannot be read without a package that is missing ({why})."
    is_refused = isinstance(error, OSError) and error.errno in _REFUSED
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return f"does not fit in memory ({why}). Free some, or give a smaller file."
    if is_refused:
        return f"cannot be read ({why}). Look at the file and its disk."
    return None


def _reason(error: Exception) -> str:
    message = " ".join(str(error).split())[:300]
    if not message:
        message = type(error).__name__
    if isinstance(error, KeyError) and " " not in message:  # a key, not a sentence
        return f"no {message}"
    return message
