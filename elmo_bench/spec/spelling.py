"""Values and nested options as the command line spells them."""

import re
from collections.abc import Mapping
from typing import Any

from elmo_bench.base.json import canonical

_PLAIN = re.compile(r"[\w./@+:-]+")  # needs no quotes on the command line
_NOT_TEXT = re.compile(r"(?i)true|false|null|none|nan|[+-]?(inf|[\d_.]+(e[+-]?\d+)?)")  # would be read as another type


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
