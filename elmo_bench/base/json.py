"""Plain JSON: reading files of anybody, and the one text and digest of a value."""

import codecs
import errno
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import check_pointer_in, check_regular, reader

MAX_BYTES = 2**28
DEEPEST = 100  # levels: a record has 6, and Python's own functions fail at a thousand
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)
_CONTAINERS = {dict, list}
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_PLAIN = (str, int, bool, type(None))


@reader
def read_json(
    path: Path, *, max_bytes: int = MAX_BYTES, follow_links: bool = True
) -> Any:
    """The value in a UTF-8 JSON file.

    A pipe or a device is refused, and with `follow_links=False` a link. Raises
    UserError, in one line, for a file that cannot be read or is larger than
    `max_bytes`, and for text that `parse_json` refuses.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC
    if not follow_links:
        flags |= os.O_NOFOLLOW
    check_regular(path)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            most = min(size or max_bytes, max_bytes)  # space for more takes time
            data = file.read(most + 1)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UserError(f"{path}: a symbolic link, which is not followed") from None
        why = error.strerror or error
        raise UserError(f"{path}: cannot be read ({why})") from None
    if len(data) > max_bytes:
        raise UserError(f"{path}: larger than {max_bytes:,} bytes")
    return parse_json(data, path)


def parse_json(data: bytes | str, where: str | Path) -> Any:
    """The value of a JSON text.

    Raises UserError, in one line that begins with `where` (and the line in a text of
    several), for text that is not UTF-8 or not JSON, for more than 100 levels, NaN,
    infinities, and half of a surrogate pair.
    """
    if isinstance(data, bytes):
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if isinstance(data, bytes):
            check_pointer_in(data, where)
        raise _not_json(error, where) from None
    brackets: Any = (b"[", b"{") if isinstance(data, bytes) else ("[", "{")
    count = sum(map(data.count, brackets))
    if count > DEEPEST and not _is_shallow(data) and _is_deep(value):
        raise UserError(f"{where}: more than {DEEPEST} levels of lists and objects")
    return value


def _not_json(error: json.JSONDecodeError, where: str | Path) -> UserError:
    text = error.doc
    lines = text.removesuffix("\n").count("\n") + 1
    line = min(error.lineno, lines)
    at = f"{where}:{line}" if "\n" in text else f"{where}"
    from_line = text.split("\n", error.lineno - 1)[-1]
    rest = from_line[error.colno - 1 :].strip()
    is_cut_off = text and not rest
    why = "cut off in the middle" if is_cut_off else error.msg
    return UserError(f"{at}: not valid JSON ({why})")


def _is_shallow(data: bytes | str) -> bool:
    """Whether the brackets of a JSON text alone show that it is not deep.

    Innermost pairs are removed again and again. False also where a string has a bracket
    or an escape: then they do not show it. Several times faster than `_is_deep`.
    """
    if isinstance(data, str) or b"\\" in data:
        return False
    brackets = data.translate(None, _NO_BRACKETS).replace(b'""', b"")
    if b'"' in brackets:
        return False
    for _ in range(DEEPEST):
        if not brackets:
            return True
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return not brackets


def _is_deep(value: Any) -> bool:
    """Whether lists and objects have more than DEEPEST levels.

    Level by level, which is several times faster than by recursion.
    """
    level = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for node in level:
            parts = node.values() if type(node) is dict else node
            below += [part for part in parts if type(part) in _CONTAINERS]
        if not below:
            return False
        level = below
    return True


def canonical(value: Any) -> str:
    """The one JSON text of plain data: keys sorted, no spaces, 1.0 as 1.

    Raises ValueError for NaN, infinities and whole numbers of more than 64 bits, which
    would be read back as others, and TypeError for values that JSON cannot hold.
    """
    return _ENCODER.encode(_whole(value))


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, as 64 hex digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _whole(value: Any) -> Any:
    """A value whose numbers are whole where they can be.

    `lr=1` on the command line and `lr: 1.0` in a yaml are the same number.
    """
    if type(value) is int and not -(2**63) <= value < 2**64:
        raise ValueError("a whole number of more than 64 bits")
    if type(value) in _PLAIN:  # most values: the checks below take longer
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    if isinstance(value, (dict, Mapping)):
        return {key: _whole(item) for key, item in value.items()}
    return value
