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
  `vector.correct`: over all others, only if that is not the rest of `correct`, as it is
  not for chains.
- other names: marks of the examples, such as `is_verb`.
- `types.names`: of the types and of what is counted, JSON in UTF-8:
  `[["LOC", "PER"], ["correct", "gold"]]`.
- `types.rows`: how many types each item has; `types.type`: for each of these which one;
  `types.counts`: and every count of it in a row. A type that an item counts nothing of
  is not among them.

The units of a slice are described in `runner/evaluate.py`.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import parse_json
from elmo_bench.base.metric import TYPE, Counting, decoded, scores_from, sums_of
from elmo_bench.base.reading import reader
from elmo_bench.ledger.archives import check_whole
from elmo_bench.ledger.record import SCORED, Scores, SplitScores

MOST_COUNTS = 10**6  # of all types
MOST_ITEMS = 10**6  # of a split: a run checks it before it trains
# Percentage points between a score and its outcomes; fractions are stored in
# millionths.
AGREES = 1e-4

CLUSTER = "cluster"  # the outcome that says which items were drawn together
# Slices of a split, each with its complement.
PAIRS = {"unseen": "seen", "novector": "vector"}
# The table of the types, whose names begin with `types.`.
_NAMES = "types.names"
_ROWS = "types.rows"
_KIND = "types.type"
_COUNTS = "types.counts"
# Arrays that do not have a number for each item.
_OF_TYPES = (_NAMES, _KIND, _COUNTS)
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
            stored |= _table(types)
        for name, values in stored.items():
            together[prefix + name] = values
    return together


def of_split(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """What is known of each item of dev or test, without types and slices.

    Raises UserError if there is nothing.
    """
    return decoded(_plain(stored, split))


def types_of(stored: Arrays, split: str) -> dict[str, dict[str, int]]:
    """{type: {count: sum over the items}} of dev or test.

    Empty if the metric has no types.
    """
    whole = _whole(stored, split)
    if _NAMES not in whole:
        return {}
    names, counts = _names(whole)
    table = whole[_COUNTS].reshape(-1, len(counts))
    kinds = whole[_KIND].astype(np.int64)
    sums = np.zeros((len(names), len(counts)), np.int64)
    for number in range(len(counts)):
        # Many times faster than np.add.at, and exact below 2**53.
        column = np.bincount(kinds, table[:, number], minlength=len(names))
        sums[:, number] = column
    types = {}
    for name, row in zip(names, sums.tolist(), strict=True):
        types[name] = decoded(dict(zip(counts, row, strict=True)))
    return types


def without_types(stored: Arrays) -> dict[str, np.ndarray]:
    """All but the counts by type, which are most of the bytes."""
    others = {}
    for name, values in stored.items():
        if name.removeprefix(_DEV) not in (_NAMES, _ROWS, _KIND, _COUNTS):
            others[name] = values
    return others


def slices_of(stored: Arrays, split: str) -> dict[str, dict[str, np.ndarray]]:
    """{slice: outcomes} of the parts of dev or test, each slice before its complement.

    An item without a unit of a slice is left out if the items are the units, and counts
    nothing otherwise.
    """
    plain = _plain(stored, split)
    units = _units(stored, split)
    slices: dict[str, dict[str, np.ndarray]] = {}
    for name, other in PAIRS.items():
        if name in plain:
            has_unit = plain[name].astype(bool)
            slices[name] = _where(plain, has_unit)
            slices[other] = _where(plain, ~has_unit)
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
        of_items = whole.keys() - {*_OF_TYPES}
        lengths = {len(whole[name]) for name in of_items}
        if len(lengths) > 1:
            raise ValueError("arrays of different lengths")
        if max(lengths, default=0) > MOST_ITEMS:
            raise ValueError(f"more than {MOST_ITEMS:,} items")
        if _NAMES in whole:
            _check_table(whole)
        _check_slices(whole)


def _check_table(whole: Arrays) -> None:
    """Raise ValueError unless the table of types is one of its items."""
    names, counts = _names(whole)
    if not 0 < len(names) * len(counts) <= MOST_COUNTS:
        raise ValueError(
            f"counts by type: {len(names):,} types of {len(counts):,} counts"
        )
    rows, kinds = whole[_ROWS], whole[_KIND]
    # Each number is small before they are summed: a sum must not overflow.
    has_right_rows = _is_within(rows, len(kinds)) and rows.sum() == len(kinds)
    if not has_right_rows or len(whole[_COUNTS]) != len(kinds) * len(counts):
        raise ValueError("the counts by type are of different lengths")
    if not _is_within(kinds, len(names) - 1):
        raise ValueError(f"a type that is not one of {len(names)}")


def _is_within(numbers: np.ndarray, most: int) -> bool:
    """Whether all numbers are from 0 to `most`."""
    if not numbers.size:
        return True
    return bool(numbers.min() >= 0 and numbers.max() <= most)


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


def _names(whole: Arrays) -> tuple[list[str], list[str]]:
    """The names of the types and of their counts. Raises ValueError."""
    try:
        names, counts = parse_json(whole[_NAMES].tobytes(), _NAMES)
    except UserError as error:  # whoever reads the file names it
        raise ValueError(str(error)) from None
    if not all(isinstance(name, str) for name in (*names, *counts)):
        raise ValueError(f"{_NAMES} are not texts")
    return names, counts


def _table(types: Arrays) -> dict[str, np.ndarray]:
    """Counts by item, `type:NAME.COUNT`, as the rows of a table.

    A row is of one item and type, in this order. Memory goes with the rows.
    """
    by_type: dict[str, dict[str, np.ndarray]] = {}
    for name, values in types.items():
        kind, _, count = name.removeprefix(TYPE).rpartition(".")
        by_type.setdefault(kind, {})[count] = np.asarray(values)
    kinds = sorted(by_type)
    counts: dict[str, None] = {}  # in the order in which they occur
    for of_kind in by_type.values():
        counts |= dict.fromkeys(of_kind)
    number_of_items = len(next(iter(types.values())))
    nothing = np.zeros(number_of_items, np.int64)
    items = []
    numbers = []
    rows = []
    for number, kind in enumerate(kinds):
        columns = [by_type[kind].get(count, nothing) for count in counts]
        present = np.logical_or.reduce([column != 0 for column in columns]).nonzero()[0]
        items.append(present)
        numbers.append(np.full(len(present), number))
        rows.append(np.stack([column[present] for column in columns], axis=1))
    order = np.argsort(np.concatenate(items), kind="stable")
    table = np.concatenate(rows)[order].astype(np.int64)
    names = json.dumps([kinds, list(counts)]).encode()
    return {
        _NAMES: np.frombuffer(names, np.uint8),
        _ROWS: np.bincount(np.concatenate(items), minlength=number_of_items),
        _KIND: np.concatenate(numbers)[order],
        _COUNTS: table.ravel(),
    }
