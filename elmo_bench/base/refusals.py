"""Errors of the system that refuses a file or memory, as lines for users."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError

# Why the system may refuse a file that is to be written.
_REFUSED = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.EIO, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.EBUSY),
    errno.ENAMETOOLONG,
)
# safetensors and HDF5 keep the system's text alone; without $HOME, so does pathlib.
_TEXTS = (
    os.strerror(errno.ENOSPC),
    os.strerror(errno.EFBIG),
    "Could not determine home directory",
)


def refusal(error: BaseException | None, where: str | Path) -> UserError | None:
    """The line for users if the system refused a file, or a GPU memory; else None.

    The refusal may be the cause of this error at any distance. `where` is named unless
    the system named a file.
    """
    while error is not None:
        if type(error).__name__ == "OutOfMemoryError":  # of torch, not imported here
            return _out_of_memory(error)
        why = _why_refused(error)
        if why is not None:
            file = getattr(error, "filename", None) or where
            return UserError(
                f"{file}: {why}. Free some space, or choose another place."
            )
        error = _cause(error)
    return None


def _out_of_memory(error: BaseException) -> UserError:
    sentences = str(error).split(". ")
    amounts = ". ".join(sentences[:3])  # how much was asked for, and how much there is
    default = "Run fewer side by side, or give smaller batches."
    advice = getattr(error, "__notes__", [default])[0]
    return UserError(f"{amounts}. {advice}")


def _why_refused(error: BaseException) -> str | None:
    """Why the system refused a file; None for any other error."""
    number = getattr(error, "errno", None)
    if number in _REFUSED:
        return os.strerror(number)
    message = str(error)
    for text in _TEXTS:
        if text in message:
            return text
    return None


def _cause(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


@contextlib.contextmanager
def disk_errors(where: str | Path) -> Iterator[None]:
    """Raise errors of the disk, such as a full or read-only one, as a UserError.

    It names `where`.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        refused = refusal(error, where)
        if refused is None:
            raise
        raise refused from error
