"""What is in a config, as plain data."""

from collections.abc import Mapping
from typing import Any

from elmo_bench.base.errors import UserError


def dotted(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings: `{"mix": {"penalty": 1}}` becomes `{"mix.penalty": 1}`."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return leaves


def sweep_of(experiment: dict[str, Any]) -> dict[str, list[Any]]:
    """The values of each option in an experiment's `sweep`."""
    given = experiment["sweep"]
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        raise UserError("sweep: not a mapping from options to values. See conf/experiment.")
    return {key: value if isinstance(value, list) else [value] for key, value in given.items()}
