"""Errors of the system that refuses a file or memory, as lines for users."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from elmo_bench.base.errors import UserError

_SPACE = "Free some space, or choose another place."
_PLACE = "Choose another place."
_IN_THE_WAY = "Move what is there, or choose another place."
# Why the system may refuse a file that is to be written, and what to do.
_ADVICE = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: _SPACE,
    errno.EROFS: _PLACE,
    errno.EACCES: _PLACE,
    errno.EPERM: _PLACE,
    errno.EIO: "Check the disk, or choose another place.",
    errno.ENOTDIR: "A part of the path is a file. Choose another place.",
    errno.EEXIST: _IN_THE_WAY,
    errno.EISDIR: _IN_THE_WAY,
    errno.ENOTEMPTY: _IN_THE_WAY,
    errno.EBUSY: "Wait until no program uses it, or choose another place.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}
# safetensors and HDF5 keep the system's text alone; without $HOME, so does pathlib.
_TEXTS = {
    os.strerror(errno.ENOSPC): _SPACE,
    os.strerror(errno.EFBIG): _SPACE,
    "Could not determine home directory": "Write the path without ~, or set $HOME.",
}


def refusal(error: BaseException | None, where: str | Path) -> UserError | None:
    """The line for users if the system refused a file, or a GPU memory; else None.

    The refusal may be the cause of this error at any distance. `where` is named unless
    the system named a file.
    """
    while error is not None:
        if type(error).__name__ == "OutOfMemoryError":  # of torch, not imported here
            return _out_of_memory(error)
        why, advice = _why_refused(error)
        if why:
            file = _file_of(error) or where
            return UserError(f"{file}: {why}. {advice}")
        error = _cause(error)
    return None


def _out_of_memory(error: BaseException) -> UserError:
    sentences = str(error).split(". ")
    amounts = ". ".join(sentences[:3])  # how much was asked for, and how much there is
    default = "Run fewer side by side, or give smaller batches."
    advice = getattr(error, "__notes__", [default])[0]
    return UserError(f"{amounts}. {advice}")


def _why_refused(error: BaseException) -> tuple[str, str]:
    """Why the system refused a file, and what to do; ("", "") for any other error."""
    number = getattr(error, "errno", None)
    if number in _ADVICE:
        return os.strerror(number), _ADVICE[number]
    message = str(error)
    for text, advice in _TEXTS.items():
        if text in message:
            return text, advice
    return "", ""


def _file_of(error: BaseException) -> str | None:
    """The file that the system named: of two, the one that a file was moved to."""
    second = getattr(error, "filename2", None)
    return second or getattr(error, "filename", None)


def _cause(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def make_folder(path: Path) -> None:
    """Make a folder and its parents; an existing folder is left unchanged.

    Raises UserError where no folder can be made, as below /proc, and OSError otherwise.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: cannot be made ({error.strerror}). Choose another folder."
        ) from None


def check_writable(folder: Path, where: str | Path) -> None:
    """Raise UserError, which names `where`, if the system refuses files in a folder.

    Nothing is made: of a folder that does not exist, the nearest one above it is tried.
    """
    try:
        nearest = folder.absolute()
        while not nearest.exists():
            nearest = nearest.parent
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        error.filename = None  # of the file that was tried
        refused = refusal(error, where)
        if refused is None:
            why = error.strerror or error
            advice = "Choose another folder."
            refused = UserError(f"{where}: cannot be made ({why}). {advice}")
        raise refused from None


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
