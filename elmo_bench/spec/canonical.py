"""Plain data as text: one JSON text for equal data, and values as the command line spells them."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[\w./@+:-]+")  # needs no quotes on the command line
_NOT_TEXT = re.compile(r"(?i)true|false|null|none|nan|[+-]?(inf|[\d_.]+(e[+-]?\d+)?)")  # would be read as another type


def canonical(value: Any) -> str:
    """The one JSON text of plain data: keys sorted, no spaces, 1.0 as 1. Raises ValueError for NaN and infinities."""
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, as 64 hex digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings: `{"mix": {"penalty": 1}}` becomes `{"mix.penalty": 1}`."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return leaves


def spelled(value: Any) -> str:
    """A value as `key=value` takes it: `true`, `null`, `0.1`, `[1,2]`, `word`, `'two words'`."""
    if not isinstance(value, str):
        return canonical(value)
    if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _whole(value: Any) -> Any:
    """`lr=1` on the command line and `lr: 1.0` in a yaml are the same number."""
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
