"""What to say of a name that is not known."""

import difflib
from collections.abc import Iterable
from typing import Any

from omegaconf import DictConfig


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
