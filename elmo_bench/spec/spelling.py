"""How an option is written, and what to say of one that is not known."""

import difflib
import re
from collections.abc import Iterable
from typing import Any

from omegaconf import DictConfig

from elmo_bench.base.json import canonical

_PLAIN = re.compile(r"[\w./@+:-]+", re.ASCII)  # needs no quotes on the command line
_NOT_TEXT = re.compile(r"(?i)true|false|null|none|nan|[+-]?(inf|[\d_.]+(e[+-]?\d+)?)")  # would be read as another type


def spelled(value: Any) -> str:
    """A value as `key=value` takes it: `true`, `null`, `0.1`, `[1,2]`, `word`, `'two words'`."""
    if not isinstance(value, str):
        return canonical(value)
    if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def unknown_option(key: str, config: DictConfig) -> str:
    """One line for an unknown key, with the keys that exist at its level."""
    *parents, last = key.split(".")
    node: Any = config
    path: list[str] = []
    for part in parents:
        if not isinstance(node, DictConfig) or not isinstance(node.get(part), DictConfig):
            last = part
            break
        node, path = node[part], [*path, part]
    known = sorted(str(other) for other in node)
    level = f"'{'.'.join(path)}' has" if path else "the options are"
    return f"unknown option '{key}'{guess(last, known)}; {level}: {', '.join(known)}"


def guess(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or nothing where no known word is close."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""
