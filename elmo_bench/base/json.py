"""Plain JSON: reading files that anybody may have written, and the one text and digest of a value."""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reader

MAX_BYTES = 2**28
MAX_DEPTH = 64  # lists and mappings inside each other
MAX_DIGITS = 25  # of a whole number; 64 bits have at most 20


@reader
def read_json(path: Path, *, max_bytes: int = MAX_BYTES, follow_links: bool = True) -> Any:
    """The value in a UTF-8 JSON file.

    With `follow_links=False` only a regular file is opened: a link, a pipe or a device is refused. Raises UserError, in
    one line, for a file that cannot be read or is larger than `max_bytes`, and for what `parse_json` refuses.
    """
    # O_NONBLOCK: opening a pipe that nobody writes to would wait forever.
    flags = os.O_RDONLY | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not follow_links and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserError(f"{path}: not a regular file")
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UserError(f"{path}: a symbolic link, which is not followed") from None
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    if len(data) > max_bytes:
        raise UserError(f"{path}: larger than {max_bytes:,} bytes")
    return parse_json(data, path)


def parse_json(data: bytes | str, where: str | Path) -> Any:
    """The value of a JSON text.

    Raises UserError, in one line that begins with `where` (and the line in a text of several), for text that is not
    UTF-8 or not JSON, for more than 64 levels, whole numbers of more than 25 digits, NaN, infinities, and half
    of a surrogate pair.
    """
    try:
        value = json.loads(data, parse_int=_whole_number, parse_constant=_refuse)
        _check(value)
        if (b"\\ud" in data.lower()) if isinstance(data, bytes) else ("\\ud" in data.lower()):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise UserError(f"{where}: more than {MAX_DEPTH} levels of lists and mappings") from None
    except UnicodeEncodeError:
        raise UserError(f"{where}: half of a surrogate pair in a text") from None
    except json.JSONDecodeError as error:
        line = min(error.lineno, error.doc.removesuffix("\n").count("\n") + 1)
        at = f"{where}:{line}" if "\n" in error.doc else f"{where}"
        rest = error.doc.split("\n", error.lineno - 1)[-1][error.colno - 1 :]
        cut = not rest.strip() or error.msg.startswith("Unterminated")
        raise UserError(f"{at}: not valid JSON ({'cut off in the middle' if cut else error.msg})") from None
    except ValueError as error:  # not UTF-8, or a number that is refused
        raise UserError(f"{where}: not valid JSON ({error})") from None
    return value


def canonical(value: Any) -> str:
    """The one JSON text of plain data: keys sorted, no spaces, 1.0 as 1.

    Raises ValueError for NaN and infinities, TypeError for what JSON cannot hold.
    """
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, as 64 hex digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _whole(value: Any) -> Any:
    """`lr=1` on the command line and `lr: 1.0` in a yaml are the same number."""
    if type(value) in (str, int, bool, type(None)):  # most values: the checks below take longer
        return value
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _whole_number(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(text)} digits")
    return int(text)


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not a finite number")


def _check(value: Any) -> None:
    """Level by level, so that no nesting can exhaust the stack."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        containers = [node for node in level if type(node) in (dict, list)]
        if any(type(node) is float and node - node != 0 for node in level):  # 1e999
            raise ValueError("a number that is not finite")
        if not containers:
            return
        level = [item for node in containers for item in (node.values() if type(node) is dict else node)]
    raise RecursionError
