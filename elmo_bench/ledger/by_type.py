"""The counts by type of the items of a split, as a table in their outcomes.

- `types.names`: of the types and of what is counted, JSON in UTF-8:
  `[["LOC", "PER"], ["correct", "gold"]]`.
- `types.rows`: how many types each item has; `types.type`: for each of these which one;
  `types.counts`: and every count of it in a row. A type that an item counts nothing of
  is not among them.
"""

import json
from collections.abc import Collection, Mapping

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import parse_json
from elmo_bench.base.metric import TYPE, decoded
from elmo_bench.base.reading import reader

MOST_COUNTS = 10**6  # of all types
MOST_NUMBERS = 2**26  # of counts by type, item by item
_NAMES = "types.names"
_ROWS = "types.rows"
_KIND = "types.type"
_COUNTS = "types.counts"
NOT_OF_ITEMS = (_NAMES, _KIND, _COUNTS)  # arrays without a number for each item

Arrays = Mapping[str, np.ndarray]


def table_of(types: Arrays) -> dict[str, np.ndarray]:
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


def sums_by_type(whole: Arrays) -> dict[str, dict[str, int]]:
    """{type: {count: sum over the items}} of the outcomes of a split.

    Empty if the metric has no types.
    """
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


def items_by_type(whole: Arrays, counts: Collection[str]) -> dict[str, np.ndarray]:
    """`type:NAME.COUNT` [items] of these counts, of each type.

    Raises UserError if these are more than MOST_NUMBERS.
    """
    if not counts or _NAMES not in whole:
        return {}
    names, of_type = _names(whole)
    if len(names) * len(counts) * len(whole[_ROWS]) > MOST_NUMBERS:
        raise UserError(
            f"{len(names):,} labels of {len(whole[_ROWS]):,} items take too much "
            "memory item by item. Compare fewer of them."
        )
    items = np.repeat(np.arange(len(whole[_ROWS])), whole[_ROWS].astype(np.int64))
    table = whole[_COUNTS].reshape(-1, len(of_type))
    by_item = {}
    for place, name in enumerate(names):
        rows = whole[_KIND] == place
        for number, count in enumerate(of_type):
            if count in counts:
                values = np.zeros(len(whole[_ROWS]), table.dtype)
                values[items[rows]] = table[rows, number]
                by_item[f"{TYPE}{name}.{count}"] = values
    return by_item


@reader
def check_table(whole: Arrays) -> None:
    """Raise ValueError unless the table, if there is one, is one of its items."""
    if _NAMES not in whole:
        return
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


def _names(whole: Arrays) -> tuple[list[str], list[str]]:
    """The names of the types and of their counts. Raises ValueError."""
    try:
        names, counts = parse_json(whole[_NAMES].tobytes(), _NAMES)
    except UserError as error:  # whoever reads the file names it
        raise ValueError(str(error)) from None
    if not all(isinstance(name, str) for name in (*names, *counts)):
        raise ValueError(f"{_NAMES} are not texts")
    return names, counts
