"""The outcomes of a record: one file for both splits, so each name says its split."""

from collections.abc import Mapping

import numpy as np

from elmo_bench.base.errors import UserError

CLUSTER = "cluster"  # the outcome that says which items were drawn together, where the task knows
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


def of_split(stored: Mapping[str, np.ndarray], split: str) -> dict[str, np.ndarray]:
    """The outcomes on dev or test. Raises UserError if there are none, as in the records of protocol 1 for dev."""
    if split == "test":
        return {name: values for name, values in stored.items() if not name.startswith(_DEV)}
    found = {name.removeprefix(_DEV): values for name, values in stored.items() if name.startswith(_DEV)}
    if not found:
        raise UserError("no outcomes on dev were kept")
    return found
