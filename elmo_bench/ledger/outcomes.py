"""The outcomes of a record: one file for both splits, so each name says its split; and its slices, in another file."""

from collections.abc import Mapping

import numpy as np

from elmo_bench.base.errors import UserError

CLUSTER = "cluster"  # the outcome that says which items were drawn together, where the task knows
# Parts of test, and test with mistyped words: what they are is in `runner/slices.py`.
SLICES = ("unseen", "seen", "novector", "vector", "mistyped")
_DEV = "dev."  # begins the names of outcomes on dev; those on test have none


def joined(outcomes: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """{split: outcomes} as they are stored."""
    return {**{_DEV + name: values for name, values in outcomes["dev"].items()}, **outcomes["test"]}


def lengths_by_split(stored: Mapping[str, np.ndarray]) -> tuple[set[int], set[int]]:
    """The lengths of the arrays on dev, and of those on test: one each, in a whole file."""
    dev, test = set[int](), set[int]()
    for name, values in stored.items():
        (dev if name.startswith(_DEV) else test).add(len(values))
    return dev, test


def joined_slices(slices: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """{slice: outcomes} as they are stored: `unseen.correct`."""
    return {f"{name}.{key}": values for name, outcomes in slices.items() for key, values in outcomes.items()}


def by_slice(stored: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """{slice: outcomes}, in the order of SLICES; other names are left out."""
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in SLICES}
    for key, values in stored.items():
        name, _, outcome = key.partition(".")
        if name in found:
            found[name][outcome] = values
    return {name: outcomes for name, outcomes in found.items() if outcomes}


def of_split(stored: Mapping[str, np.ndarray], split: str) -> dict[str, np.ndarray]:
    """The outcomes on dev or test. Raises UserError if those on dev were not kept."""
    if split == "test":
        return {name: values for name, values in stored.items() if not name.startswith(_DEV)}
    found = {name.removeprefix(_DEV): values for name, values in stored.items() if name.startswith(_DEV)}
    if not found:
        raise UserError("no outcomes on dev were kept")
    return found
