"""The outcomes of a record: what each item of dev and of test contributed to every figure, as arrays of whole numbers.

A metric gives arrays by name, with a number for each item: what its formula sums (`correct`), and for figures by type
`type:PER.correct`. A run adds what it knows of the items. One file has all of it, and the names on dev begin with
`dev.`:

| name | what |
|---|---|
| `correct` and the like | what the metric counts, by item; they sum up to `scores.*.overall` |
| `cluster` | numbers of the groups of items that were drawn together, where the task knows |
| `unseen`, `novector` | 1: the item has a word that training lacks; that the suite's static vectors lack |
| `unseen.correct`, `seen.correct`, `novector.correct`, `vector.correct` | where a slice has units that are no items, such as entities: what the metric counts of these units alone (`seen` and `vector`: of the others) |
| other flags | marks of the examples: `is_verb`, whether the predicate is a verb |
| `types.names` | the types' names: a JSON list in UTF-8, sorted |
| `types.item`, `types.type`, `types.correct` … | counts by type; a row for each item and type of which a count is not 0 |

What these slices are is in `runner/units.py`. Those that `elmo-bench slices` makes are in another file.
"""

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from elmo_bench.base.errors import UserError

CLUSTER = "cluster"  # the outcome that says which items were drawn together, where the task knows
PAIRS = {"unseen": "seen", "novector": "vector"}  # slices of a split, each with its complement
SLICES = (*(name for pair in PAIRS.items() for name in pair), "mistyped")  # the last one is test with mistyped words
TYPE = "type:"  # begins a metric's names of counts by type: type:NAME.COUNT
_TYPES = "types."  # begins the names of the table that keeps them
_NAMES, _ITEM, _KIND = (_TYPES + name for name in ("names", "item", "type"))
_DEV = "dev."  # begins the names of outcomes on dev; those on test have none

Arrays = Mapping[str, np.ndarray]


def joined(outcomes: Mapping[str, Arrays]) -> dict[str, np.ndarray]:
    """{split: outcomes} as they are stored."""
    found = {}
    for split, prefix in (("dev", _DEV), ("test", "")):
        plain = {name: values for name, values in outcomes[split].items() if not name.startswith(TYPE)}
        types = {name: values for name, values in outcomes[split].items() if name.startswith(TYPE)}
        found |= {prefix + name: values for name, values in (plain | (_table(types) if types else {})).items()}
    return found


def of_split(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """What is known of each item of dev or test, without types and slices. Raises UserError if there is nothing."""
    found = {name: values for name, values in _whole(stored, split).items() if "." not in name}
    if not found:
        raise UserError(f"no outcomes on {split} were kept")
    return found


def types_of(stored: Arrays, split: str) -> dict[str, dict[str, np.ndarray]]:
    """{type: {count: by item}} of dev or test; none if the metric has no types."""
    whole = _whole(stored, split)
    if _NAMES not in whole:
        return {}
    items = len(next(values for name, values in whole.items() if "." not in name))
    counts = {name.removeprefix(_TYPES): values for name, values in whole.items() if name.startswith(_TYPES)}
    names, item, kind = _names(whole), counts.pop("item").astype(int), counts.pop("type").astype(int)
    del counts["names"]
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in names}
    for count, values in counts.items():
        table = np.zeros((len(names), items), np.int64)
        table[kind, item] = values
        for name, row in zip(names, table, strict=True):
            found[name][count] = row
    return found


def slices_of(stored: Arrays, split: str) -> dict[str, dict[str, np.ndarray]]:
    """{slice: outcomes} of the parts of dev or test, in the order of SLICES.

    An item without a unit of a slice is left out if the items are the units, and counts nothing otherwise.
    """
    whole, plain, found = _whole(stored, split), of_split(stored, split), {}
    clusters = {CLUSTER: plain[CLUSTER]} if CLUSTER in plain else {}
    for name, other in PAIRS.items():
        if name in plain:
            has = plain[name].astype(bool)
            found |= {part: {key: each[mask] for key, each in plain.items()} for part, mask in ((name, has), (other, ~has))}
        elif units := by_slice(whole):
            found |= {part: units[part] | clusters for part in (name, other) if part in units}
    return found


def digest_of(outcomes: Arrays) -> str:
    """SHA-256 of the names and values of stored outcomes, whatever the types and the packing of the arrays."""
    digest = hashlib.sha256()
    for name in sorted(outcomes):
        values = np.asarray(outcomes[name])
        digest.update(f"{name}\n{len(values)}\n".encode())
        digest.update(values.astype("<u8").tobytes())
    return digest.hexdigest()


def check_stored(stored: Arrays) -> None:
    """Raise ValueError unless a split's arrays are of as many items, and its table of types is one of these items."""
    for split in ("dev", "test"):
        whole = _whole(stored, split)
        items = {len(values) for name, values in whole.items() if not name.startswith(_TYPES)}
        rows = {len(values) for name, values in whole.items() if name.startswith(_TYPES) and name != _NAMES}
        if len(items) > 1 or len(rows) > 1:
            raise ValueError("arrays of different lengths")
        if rows:
            names = _names(whole)
            for column, size in ((_ITEM, max(items)), (_KIND, len(names))):
                if not all(0 <= number < size for number in whole[column].tolist()):
                    raise ValueError(f"{column} has a number that is not below {size}")


def joined_slices(slices: Mapping[str, Arrays]) -> dict[str, np.ndarray]:
    """{slice: outcomes} as they are stored: `unseen.correct`."""
    return {f"{name}.{key}": values for name, outcomes in slices.items() for key, values in outcomes.items()}


def by_slice(stored: Arrays) -> dict[str, dict[str, np.ndarray]]:
    """{slice: outcomes}, in the order of SLICES; other names are left out."""
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in SLICES}
    for key, values in stored.items():
        name, _, outcome = key.partition(".")
        if name in found and outcome:
            found[name][outcome] = values
    return {name: outcomes for name, outcomes in found.items() if outcomes}


def _whole(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """Everything on this split, by its name without `dev.`."""
    on_dev = {name: values for name, values in stored.items() if name.startswith(_DEV)}
    if split == "dev":
        return {name.removeprefix(_DEV): values for name, values in on_dev.items()}
    return {name: values for name, values in stored.items() if name not in on_dev}


def _names(whole: Arrays) -> list[str]:
    """The types' names. Raises ValueError."""
    names = json.loads(whole[_NAMES].tobytes())
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{_NAMES} is not a list of texts")
    return names


def _table(types: Arrays) -> dict[str, np.ndarray]:
    """Counts by item, `type:NAME.COUNT`, as the rows of a table."""
    keys = [name.removeprefix(TYPE).rpartition(".") for name in types]
    names, counts = sorted({key[0] for key in keys}), list(dict.fromkeys(key[2] for key in keys))
    table = np.zeros((len(next(iter(types.values()))), len(names), len(counts)), np.int64)
    for (name, _, count), values in zip(keys, types.values(), strict=True):
        table[:, names.index(name), counts.index(count)] = values
    item, kind = table.any(axis=2).nonzero()
    found = {_NAMES: np.frombuffer(json.dumps(names).encode(), np.uint8), _ITEM: item, _KIND: kind}
    return found | {_TYPES + count: table[item, kind, place] for place, count in enumerate(counts)}
