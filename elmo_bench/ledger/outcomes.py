"""The outcomes of a record: what each item of dev and of test contributed to every figure, as arrays of whole numbers.

A metric counts: arrays by name, with a number for each item (`correct`), and for figures by type `type:PER.correct`.
A run adds what it knows of the items. One file has all of it, and the names on dev begin with `dev.`:

- `correct` and the like: what the metric counts, by item; its `figures` of their sums are `scores.*`. Names that end in
  `_num` are of fractions, in millionths.
- `cluster`: numbers of the groups of items that were drawn together, where the task knows.
- `unseen`, `novector`: whether the item has a word that training lacks, or that the suite's static vectors lack.
- `unseen.correct`, `novector.correct`: where slices have units that are no items, such as entities, what the main
  figure sums over these units alone; `seen.correct`, `vector.correct`: over all others, only if that is not the rest of
  `correct`, as it is not for chains.
- other names: marks of the examples, such as `is_verb`.
- `types.names`: of the types and of what is counted, JSON in UTF-8: `[["LOC", "PER"], ["correct", "gold"]]`.
- `types.rows`: how many types each item has; `types.type`: for each of these which one; `types.counts`: and every count
  of it in a row. A type that an item counts nothing of is not among them.

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

MOST_COUNTS = 10**6  # of all types
AGREES = 1e-4  # percentage points between a score and its outcomes; fractions are stored in millionths


CLUSTER = "cluster"  # the outcome that says which items were drawn together, where the task knows
PAIRS = {"unseen": "seen", "novector": "vector"}  # slices of a split, each with its complement
_TYPES = "types."  # begins the names of the table that keeps them
_NAMES, _ROWS, _KIND, _COUNTS = (_TYPES + name for name in ("names", "rows", "type", "counts"))
_DEV = "dev."  # begins the names of outcomes on dev; those on test have none

Arrays = Mapping[str, np.ndarray]


def joined(outcomes: Mapping[str, Arrays]) -> dict[str, np.ndarray]:
    """{split: outcomes} as they are stored."""
    together: dict[str, np.ndarray] = {}
    for split, prefix in (("dev", _DEV), ("test", "")):
        plain = {name: values for name, values in outcomes[split].items() if not name.startswith(TYPE)}
        types = {name: values for name, values in outcomes[split].items() if name.startswith(TYPE)}
        together |= {prefix + name: values for name, values in (plain | (_table(types) if types else {})).items()}
    return together


def of_split(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """What is known of each item of dev or test, without types and slices. Raises UserError if there is nothing."""
    return decoded(_plain(stored, split))


def types_of(stored: Arrays, split: str) -> dict[str, dict[str, int]]:
    """{type: {count: sum over the items}} of dev or test; none if the metric has no types."""
    whole = _whole(stored, split)
    if _NAMES not in whole:
        return {}
    names, counts = _names(whole)
    sums = np.zeros((len(names), len(counts)), np.int64)
    np.add.at(sums, whole[_KIND].astype(int), whole[_COUNTS].reshape(-1, len(counts)).astype(np.int64))
    rows = (dict(zip(counts, row, strict=True)) for row in sums.tolist())
    return {name: decoded(row) for name, row in zip(names, rows, strict=True)}


def slices_of(stored: Arrays, split: str) -> dict[str, dict[str, np.ndarray]]:
    """{slice: outcomes} of the parts of dev or test, each slice before its complement.

    An item without a unit of a slice is left out if the items are the units, and counts nothing otherwise.
    """
    whole, plain = _whole(stored, split), _plain(stored, split)
    slices: dict[str, dict[str, np.ndarray]] = {}
    clusters = {CLUSTER: plain[CLUSTER]} if CLUSTER in plain else {}
    units: dict[str, dict[str, np.ndarray]] = {}
    for key, values in whole.items():
        name, _, outcome = key.partition(".")
        units.setdefault(name, {})[outcome] = values
    for name, other in PAIRS.items():
        if name in plain:
            has = plain[name].astype(bool)
            slices |= {
                part: {key: each[mask] for key, each in plain.items()} for part, mask in ((name, has), (other, ~has))
            }
        elif name in units:
            rest = units.get(other) or {key: plain[key] - values for key, values in units[name].items()}
            slices |= {name: units[name] | clusters, other: rest | clusters}
    return {name: decoded(counts) for name, counts in slices.items()}


def digest_of(outcomes: Arrays) -> str:
    """SHA-256 of the names and values of stored outcomes, whatever the packing. Raises UserError, as `compact`."""
    digest = hashlib.sha256()
    for name, values in sorted(compact(outcomes).items()):
        digest.update(f"{name}\n{len(values)}\n".encode())
        digest.update(values.astype("<u8").tobytes())
    return digest.hexdigest()


def compact(outcomes: Arrays) -> dict[str, np.ndarray]:
    """All in the smallest unsigned type that holds them. Raises UserError unless they are whole numbers from 0."""
    small = {}
    for name, values in outcomes.items():
        array = np.asarray(values)
        if array.dtype.kind not in "bui" or (array.size and array.min() < 0):
            raise UserError(f"outcomes '{name}' are not whole numbers from 0. Scale and round them first.")
        small[name] = array if array.dtype.kind == "b" else array.astype(np.min_scalar_type(array.max(initial=0)))
    return small


@reader
def check_stored(stored: Arrays) -> None:
    """Raise ValueError unless a split's arrays are of as many items, its table of types is one of these items, and its
    slices are parts of what is counted."""
    for split in ("dev", "test"):
        whole = _whole(stored, split)
        if len({len(values) for name, values in whole.items() if name not in (_NAMES, _KIND, _COUNTS)}) > 1:
            raise ValueError("arrays of different lengths")
        if _NAMES in whole:
            (names, counts), rows, kinds = _names(whole), whole[_ROWS].tolist(), whole[_KIND]
            if not 0 < len(names) * len(counts) <= MOST_COUNTS:
                raise ValueError(f"counts by type: {len(names):,} types of {len(counts):,} counts")
            if min(rows, default=0) < 0 or not sum(rows) == len(kinds) == len(whole[_COUNTS]) / len(counts):
                raise ValueError("the counts by type are of different lengths")
            if len(kinds) and not 0 <= kinds.min() <= kinds.max() < len(names):
                raise ValueError(f"a type that is not one of {len(names)}")
        for name, values in whole.items():
            part, _, count = name.partition(".")
            is_rest = part in PAIRS and count and f"{PAIRS[part]}.{count}" not in whole  # what remains is the other
            if is_rest and (count not in whole or (values > whole[count]).any()):
                raise ValueError(f"{name} counts more than all items")


def scores_by(stored: Arrays, metric: Counting, split: str) -> dict[str, Any]:
    """The scores of dev or test that follow from stored outcomes. Raises UserError if outcomes are missing."""
    sums = sums_of(metric, of_split(stored, split))
    for name, row in types_of(stored, split).items():
        sums |= {f"{TYPE}{name}.{count}": value for count, value in row.items()}
    return scores_from(metric, sums)


def check_figures(stored: Arrays, metric: Counting, scores: Mapping[str, Any]) -> None:
    """Raise UserError, naming the first figure, unless every figure of each split follows from its outcomes."""
    for split, reported in scores.items():
        counted = scores_by(stored, metric, split)
        _compare(split, "", counted["overall"], reported["overall"])
        for name, row in reported.get("by_type", {}).items():
            _compare(split, f" of {name:.60}", counted.get("by_type", {}).get(name, {}), row)


def _compare(split: str, of: str, counted: Mapping[str, float], reported: Mapping[str, float]) -> None:
    for name, value in reported.items():
        if name not in counted:
            raise UserError(f"outcomes on {split}: {name:.60}{of} does not follow from them")
        if not abs(counted[name] - value) <= AGREES:
            figures = f"they add up to {name:.60}{of} {counted[name]:.2f}; reported is {value:.2f}"
            raise UserError(f"outcomes on {split}: {figures}")


def _whole(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """Everything on this split, by its name without `dev.`."""
    on_dev = {name: values for name, values in stored.items() if name.startswith(_DEV)}
    if split == "dev":
        return {name.removeprefix(_DEV): values for name, values in on_dev.items()}
    return {name: values for name, values in stored.items() if name not in on_dev}


def _plain(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """What is stored of each item, without types and slices. Raises UserError if there is nothing."""
    plain = {name: values for name, values in _whole(stored, split).items() if "." not in name}
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
    """Counts by item, `type:NAME.COUNT`, as the rows of a table."""
    keys = [name.removeprefix(TYPE).rpartition(".") for name in types]
    names, counts = sorted({key[0] for key in keys}), list(dict.fromkeys(key[2] for key in keys))
    smallest = np.result_type(*types.values())  # int64 would take a gigabyte for 300 types of 100,000 items
    table = np.zeros((len(next(iter(types.values()))), len(names), len(counts)), smallest)
    for (name, _, count), values in zip(keys, types.values(), strict=True):
        table[:, names.index(name), counts.index(count)] = values
    present = np.asarray(table.any(axis=2))  # items, types
    return {
        _NAMES: np.frombuffer(json.dumps([names, counts]).encode(), np.uint8),
        _ROWS: present.sum(axis=1),
        _KIND: present.nonzero()[1],
        _COUNTS: table[present].ravel(),
    }
