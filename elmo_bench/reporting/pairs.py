"""Which systems are compared: pairs of hashes, for `comparisons.compare`."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from elmo_bench.reporting.names import BASELINE

# Options that the baseline does not have: they belong to the encoder above it.
CONTEXTUAL = (
    "mix",
    "place",
    "store",
    "encoder.weights",
    "encoder.precision",
    "encoder.contextual",
)


def pairs_of(rows: Sequence[tuple[Any, ...]], *more: str) -> pd.DataFrame:
    """Pairs for `compare`: each row has two hashes, and a value for each column of
    `more`.
    """
    return pd.DataFrame(list(rows), columns=["ours", "theirs", *more], dtype=object)


def baseline_pairs(systems: pd.DataFrame) -> pd.DataFrame:
    """Each system with its baseline: on the same basis, with the same changes as far as
    they concern it.

    The baseline itself, and a system without one, are in no pair.
    """
    baselines: dict[tuple[str, frozenset[tuple[str, str]]], str] = {}
    rows = list(zip(systems.hash, systems.basis, systems.spec, strict=True))
    for run_hash, basis, spec in rows:
        if spec.encoder == BASELINE:
            baselines.setdefault((basis, frozenset(spec.changes.items())), run_hash)
    pairs = []
    for run_hash, basis, spec in rows:
        same = frozenset(
            (key, value)
            for key, value in spec.changes.items()
            if not key.startswith(CONTEXTUAL)
        )
        baseline = baselines.get((basis, same))
        if baseline is not None and spec.encoder != BASELINE:
            pairs.append((run_hash, baseline))
    return pairs_of(pairs)


def all_pairs(systems: pd.DataFrame, names: str = "encoder_label") -> pd.DataFrame:
    """Every pair of the systems of a task, for `ranks`; `names` is the column that says
    which encoder each is.
    """
    pairs = []
    for task, group in systems.groupby("task", sort=False):
        named = zip(group.hash, group[names], strict=True)
        for (ours, our_name), (theirs, their_name) in combinations(named, 2):
            pairs.append((ours, theirs, task, our_name, their_name))
    return pairs_of(pairs, "task", "our_name", "their_name")
