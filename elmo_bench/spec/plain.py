"""What is in a config, as plain data."""

from collections.abc import Mapping
from typing import Any


def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings: `{"mix": {"penalty": 1}}` becomes `{"mix.penalty": 1}`."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return leaves


def sweep_of(experiment: dict[str, Any]) -> list[dict[str, list[Any]]]:
    """The values of each option in an experiment's `sweep`: one mapping, or several, each of which is a product.

    Raises ValueError.
    """
    given = experiment["sweep"]
    parts = given if isinstance(given, list) else [given]
    if not parts or not all(isinstance(part, dict) and all(isinstance(key, str) for key in part) for part in parts):
        raise ValueError("sweep: not a mapping from options to values, or a list of them")
    return [{key: value if isinstance(value, list) else [value] for key, value in part.items()} for part in parts]
