"""The outcomes of a record: what each item contributed to every figure.

Outcomes are arrays of whole numbers. A metric counts: arrays by name, with a number for
each item (`correct`), and for figures by type `type:PER.correct`. A run adds what it
knows of the items. One file has dev and test; the names on dev begin with `dev.`:

- `correct` and similar names: what the metric counts, by item; the metric's `figures`
  of their sums are `scores.*`. Names that end in `_num` are of fractions, in
  millionths.
- `cluster`: the number of the item's group, of items drawn together, if there are any.
- `unseen`, `novector`: whether the item has a word that training lacks, or that the
  suite's static vectors lack.
- `unseen.correct`, `novector.correct`: where slices have units that are no items, such
  as entities, what the main figure sums over these units alone; `seen.correct`,
  `vector.correct`: over all others, only where that is not the rest of `correct`, as
  for chains.
- other names: marks of the examples, such as `is_verb`.
- `types.…`: the counts by type, see `by_type.py`.

The units of a slice are described in `runner/evaluate.py`.
"""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import TYPE, Counting, decoded, scores_from, sums_of
from elmo_bench.base.reading import reader
from elmo_bench.ledger.archives import check_whole
from elmo_bench.ledger.by_type import (
    NOT_OF_ITEMS,
    check_table,
    items_by_type,
    sums_by_type,
    table_of,
)
from elmo_bench.ledger.record import SCORED, Scores, SplitScores

MOST_ITEMS = 10**6  # of a split: a run checks it before it trains
# Percentage points between a score and its outcomes; fractions are stored in
# millionths.
AGREES = 1e-4

CLUSTER = "cluster"  # the outcome that says which items were drawn together
# Slices of a split, each with its complement.
PAIRS = {"unseen": "seen", "novector": "vector"}
_DEV = "dev."  # begins the names of outcomes on dev; outcomes on test have no prefix

Arrays = Mapping[str, np.ndarray]


def joined(outcomes: Mapping[str, Arrays]) -> dict[str, np.ndarray]:
    """{split: outcomes} as they are stored."""
    together: dict[str, np.ndarray] = {}
    for split, prefix in (("dev", _DEV), ("test", "")):
        stored: dict[str, np.ndarray] = {}
        types: dict[str, np.ndarray] = {}
        for name, values in outcomes[split].items():
            group = types if name.startswith(TYPE) else stored
            group[name] = values
        if types:
            stored |= table_of(types)
        for name, values in stored.items():
            together[prefix + name] = values
    return together


def of_split(
    stored: Arrays, split: str, types: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """What is known of each item of dev or test, without slices.

    types: the counts that it also has of each type, `type:NAME.COUNT`. Raises UserError
    if there is nothing.
    """
    return decoded(_plain(stored, split) | items_by_type(_whole(stored, split), types))


def types_of(stored: Arrays, split: str) -> dict[str, dict[str, int]]:
    """{type: {count: sum over the items}} of dev or test.

    Empty if the metric has no types.
    """
    return sums_by_type(_whole(stored, split))


def slices_of(
    stored: Arrays, split: str, types: Collection[str] = ()
) -> dict[str, dict[str, np.ndarray]]:
    """{slice: outcomes} of the parts of dev or test, each slice before its complement.

    An item without a unit of a slice is left out if the items are the units, and counts
    nothing otherwise. types: as in `of_split`, where the items are the units.
    """
    plain = _plain(stored, split)
    of_types = items_by_type(_whole(stored, split), types)
    units = _units(stored, split)
    slices: dict[str, dict[str, np.ndarray]] = {}
    for name, other in PAIRS.items():
        if name in plain:
            has_unit = plain[name].astype(bool)
            slices[name] = _where(plain | of_types, has_unit)
            slices[other] = _where(plain | of_types, ~has_unit)
        elif name in units:
            slices[name] = dict(units[name])
            slices[other] = units.get(other) or _rest(plain, units[name])
            if CLUSTER in plain:
                slices[name][CLUSTER] = plain[CLUSTER]
                slices[other][CLUSTER] = plain[CLUSTER]
    return {name: decoded(counts) for name, counts in slices.items()}


def _units(stored: Arrays, split: str) -> dict[str, dict[str, np.ndarray]]:
    """{slice: {outcome: numbers}} of the stored names with a dot."""
    units: dict[str, dict[str, np.ndarray]] = {}
    for key, values in _whole(stored, split).items():
        name, _, outcome = key.partition(".")
        units.setdefault(name, {})[outcome] = values
    return units


def _where(outcomes: Arrays, mask: np.ndarray) -> dict[str, np.ndarray]:
    """The outcomes of the items in a mask."""
    return {name: values[mask] for name, values in outcomes.items()}


def _rest(outcomes: Arrays, part: Arrays) -> dict[str, np.ndarray]:
    """What all units count less what the units of a slice count."""
    return {name: outcomes[name] - values for name, values in part.items()}


def digest_of(outcomes: Arrays) -> str:
    """SHA-256 of the names and values of stored outcomes, whatever the packing.

    Raises UserError, as `compact`.
    """
    hasher = hashlib.sha256()
    for name in sorted(outcomes):
        values = np.asarray(outcomes[name])
        check_whole(name, values)
        hasher.update(f"{name}\n{len(values)}\n".encode())
        hasher.update(np.ascontiguousarray(values, "<u8").data)
    return hasher.hexdigest()


@reader
def check_stored(stored: Arrays) -> None:
    """Raise ValueError unless the arrays of each split fit together.

    They are of as many items, the table of types is one of these items, and slices are
    parts of what is counted.
    """
    for split in SCORED:
        whole = _whole(stored, split)
        of_items = whole.keys() - {*NOT_OF_ITEMS}
        lengths = {len(whole[name]) for name in of_items}
        if len(lengths) > 1:
            raise ValueError("arrays of different lengths")
        if max(lengths, default=0) > MOST_ITEMS:
            raise ValueError(f"more than {MOST_ITEMS:,} items")
        check_table(whole)
        _check_slices(whole)


def _check_slices(whole: Arrays) -> None:
    """Raise ValueError for a slice that counts more than all items."""
    for name, values in whole.items():
        part, _, count = name.partition(".")
        if part not in PAIRS or not count:
            continue
        if f"{PAIRS[part]}.{count}" in whole:
            continue  # the complement is not what remains
        if count not in whole or (values > whole[count]).any():
            raise ValueError(f"{name} counts more than all items")


def scores_by(stored: Arrays, metric: Counting, split: str) -> dict[str, Any]:
    """The scores of dev or test that follow from stored outcomes.

    Raises UserError if outcomes are missing.
    """
    sums = sums_of(metric, of_split(stored, split))
    for name, row in types_of(stored, split).items():
        for count, value in row.items():
            sums[f"{TYPE}{name}.{count}"] = value
    return scores_from(metric, sums)


def check_figures(stored: Arrays, metric: Counting, scores: Scores) -> None:
    """Raise UserError unless every figure of both splits follows from its outcomes.

    The error names the first figure.
    """
    for split in SCORED:
        check_split(stored, metric, split, scores.of(split))


def check_split(
    stored: Arrays, metric: Counting, split: str, reported: SplitScores
) -> None:
    """As `check_figures`, of one split."""
    counted = scores_by(stored, metric, split)
    _compare(split, "", counted["overall"], reported.overall)
    of_types = counted.get("by_type", {})
    for name, row in reported.by_type.items():
        _compare(split, f" of {name:.60}", of_types.get(name, {}), row)


def _compare(
    split: str, of: str, counted: Mapping[str, float], reported: Mapping[str, float]
) -> None:
    for name, value in reported.items():
        if name not in counted:
            raise UserError(
                f"outcomes on {split}: {name:.60}{of} does not follow from them"
            )
        if not abs(counted[name] - value) <= AGREES:
            raise UserError(
                f"outcomes on {split}: they add up to {name:.60}{of} "
                f"{counted[name]:.2f}; reported is {value:.2f}"
            )


def _whole(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """Everything on this split, by its name without `dev.`."""
    whole = {}
    for name, values in stored.items():
        on_dev = name.startswith(_DEV)
        if on_dev == (split == "dev"):
            whole[name.removeprefix(_DEV)] = values
    return whole


def _plain(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """What is stored of each item, without types and slices.

    Raises UserError if there is nothing.
    """
    plain = {}
    for name, values in _whole(stored, split).items():
        if "." not in name:
            plain[name] = values
    if not plain:
        raise UserError(f"no outcomes on {split} were kept")
    return plain
