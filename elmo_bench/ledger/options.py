"""Settings as options of run.py: by dotted key, with values as the command line spells them."""

from collections.abc import Mapping
from typing import Any

from elmo_bench.ledger.identity import canonical


def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings, `{"mix": {"penalty": 1}}` as `{"mix.penalty": 1}`; an empty mapping has none."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return leaves


def spelled(value: Any) -> str:
    """`true`, `null`, `0.1`, `[1,2]`; words without quotes."""
    return value if isinstance(value, str) else canonical(value)
