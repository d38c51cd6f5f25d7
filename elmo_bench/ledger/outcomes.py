"""The outcomes of a record: what each item of dev and of test contributed to every figure, as arrays of whole numbers.

A metric gives arrays by name, with a number for each item: what its formula sums (`correct`), and for figures by type
`type:PER.correct`. A run adds what it knows of the items. One file has all of it, and the names on dev begin with
`dev.`:

- `correct` and the like: what the metric counts, by item; it sums up to `scores.*.overall`.
- `cluster`: numbers of the groups of items that were drawn together, where the task knows.
- `unseen`, `novector`: whether the item has a word that training lacks, or that the suite's static vectors lack.
- `unseen.correct`, `novector.correct`: where slices have units that are no items, such as entities, what the formula
  sums over these units alone; `seen.correct`, `vector.correct`: over all others, only if that is not the rest of
  `correct`, as it is not for chains.
- other names: marks of the examples, such as `is_verb`.
- `types.names`: of the types and of what is counted, JSON in UTF-8: `[["LOC", "PER"], ["correct", "gold"]]`.
- `types.rows`: how many types each item has; `types.type`: for each of these which one; `types.counts`: and every count
  of it in a row. A type that an item counts nothing of is not among them.

The units of a slice are described in `runner/evaluate.py`.
"""

import hashlib
import importlib
import json
from collections.abc import Mapping
from importlib.util import find_spec
from math import isnan, nan
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import FINE, Formula, Outcomes
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import reader

__all__ = ["AGREES", "Formula", "Outcomes", "formula"]

MOST_COUNTS = 10**6  # of all types
AGREES = 0.01  # percentage points between a score and its outcomes; some outcomes are rounded


def formula(name: str, task: str = "") -> Formula:
    """The formula of this name: of this task, else of any task in the installation or in `--include` folders.

    Raises UserError if there is none. Modules are imported by name: tasks import the ledger.
    """
    folders = importlib.import_module("elmo_bench.tasks").__path__
    tasks = sorted({path.parent.name for folder in folders for path in Path(folder).glob("*/metric.py")})
    for each in sorted(tasks, key=lambda each: each != task):
        metric = getattr(importlib.import_module(f"elmo_bench.tasks.{each}.metric"), "Metric", None)
        its = getattr(metric, "formula", None)
        if isinstance(its, Formula) and its.name == name:  # `task_class` refuses a metric without one
            return its
    raise UserError(f"formula {name}: no task here has it, so it cannot be tested. Give its folder: --include FOLDER.")


def check_metric(name: str, task: str, formula: str | None = None) -> None:
    """Raise UserError if the task is installed and has another main score, whose name tables show, or formula.

    formula: the record's, if a task here has it; one of no task here is not tested.
    """
    module = f"elmo_bench.tasks.{task}"
    if task.isidentifier() and find_spec(module) and find_spec(f"{module}.metric"):
        metric = getattr(importlib.import_module(f"{module}.metric"), "Metric", None)
        own = getattr(metric, "main", name)  # `task_class` refuses a metric without one
        if name != own:
            raise UserError(f"record.metric: {name!r:.60} is not the main score of {task}, which is {own}")
        if formula not in (None, its := getattr(getattr(metric, "formula", None), "name", formula)):
            raise UserError(f"record.formula: {formula!r:.60} is not the formula of {task}, which is {its}")


CLUSTER = "cluster"  # the outcome that says which items were drawn together, where the task knows
PAIRS = {"unseen": "seen", "novector": "vector"}  # slices of a split, each with its complement
TYPE = "type:"  # begins a metric's names of counts by type: type:NAME.COUNT
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
    plain = {name: values for name, values in _whole(stored, split).items() if "." not in name}
    if not plain:
        raise UserError(f"no outcomes on {split} were kept")
    return plain


def types_of(stored: Arrays, split: str) -> dict[str, dict[str, int]]:
    """{type: {count: sum over the items}} of dev or test; none if the metric has no types."""
    whole = _whole(stored, split)
    if _NAMES not in whole:
        return {}
    names, counts = _names(whole)
    sums = np.zeros((len(names), len(counts)), np.int64)
    np.add.at(sums, whole[_KIND].astype(int), whole[_COUNTS].reshape(-1, len(counts)).astype(np.int64))
    return {name: dict(zip(counts, row, strict=True)) for name, row in zip(names, sums.tolist(), strict=True)}


def slices_of(stored: Arrays, split: str) -> dict[str, dict[str, np.ndarray]]:
    """{slice: outcomes} of the parts of dev or test, each slice before its complement.

    An item without a unit of a slice is left out if the items are the units, and counts nothing otherwise.
    """
    whole, plain = _whole(stored, split), of_split(stored, split)
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
    return slices


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
            (names, counts), rows, kinds = _names(whole), whole[_ROWS].tolist(), whole[_KIND].tolist()
            if not 0 < len(names) * len(counts) <= MOST_COUNTS:
                raise ValueError(f"counts by type: {len(names):,} types of {len(counts):,} counts")
            if min(rows, default=0) < 0 or not sum(rows) == len(kinds) == len(whole[_COUNTS]) / len(counts):
                raise ValueError("the counts by type are of different lengths")
            if not all(0 <= kind < len(names) for kind in kinds):
                raise ValueError(f"a type that is not one of {len(names)}")
        for name, values in whole.items():
            part, _, count = name.partition(".")
            is_rest = part in PAIRS and count and f"{PAIRS[part]}.{count}" not in whole  # what remains is the other
            if is_rest and (count not in whole or (values > whole[count]).any()):
                raise ValueError(f"{name} counts more than all items")


def check_sums(stored: Arrays, how: Formula, main: str, scores: Mapping[str, Any]) -> None:
    """Raise UserError, naming the first figure, unless the figures of each split follow from its outcomes.

    These are the main score, counts, precision, recall and F1, over everything and by type.
    """
    for split, said in scores.items():
        for name, (summed, stated) in _figures(stored, how, main, split, said).items():
            if not abs(summed - stated) <= AGREES:
                raise UserError(f"outcomes on {split}: they add up to {name} {summed:.2f}; reported is {stated:.2f}")


def _figures(stored: Arrays, how: Formula, main: str, split: str, said: Any) -> dict[str, tuple[float, float]]:
    """{figure: (by the outcomes, by the record)} of all that the record has, the main score first."""
    arrays, types, by_type = of_split(stored, split), types_of(stored, split), said.get("by_type", {})
    sums = {name: int(values.sum()) for name, values in arrays.items()}
    implied = {main: 0.0} | _implied(sums) | {main: how.score_of(arrays)}
    if {"excess", "missed"} <= arrays.keys():
        implied["perfect_props"] = 100 * float(np.mean((arrays["excess"] == 0) & (arrays["missed"] == 0)))
    if "exact" in arrays:
        implied["exact_match"] = 100 * float(np.mean(arrays["exact"]))
    figures, f1 = dict[str, tuple[float, float]](), []
    without = dict.fromkeys(next(iter(types.values()), {}), 0)  # the counts of a type that is in no item
    for name, row in by_type.items():
        counts = {key: sums[f"{name}_{key}"] / (FINE if "_num" in key else 1) for key in row if f"{name}_{key}" in sums}
        own = _implied(counts | types.get(name, without))
        implied[f"{name}_f1"] = own.get("f1", 0.0)
        f1.append(own.get("f1", 0.0))
        figures |= {f"{key} of {name}": (value, row[key]) for key, value in own.items() if key in row}
    if f1:
        implied["macro_f1"] = fmean(f1)
    return {
        name: (value, said["overall"][name]) for name, value in implied.items() if name in said["overall"]
    } | figures


def _implied(counts: Mapping[str, float]) -> dict[str, float]:
    """Counts by name, and the percentages that follow from them."""
    get, right = counts.get, counts.get("correct", nan)
    shares = {
        "precision": (get("precision_num", right), get("precision_den", get("guessed", right + get("excess", nan)))),
        "recall": (get("recall_num", right), get("recall_den", get("gold", right + get("missed", nan)))),
        "accuracy": (get("same_tags", right), get("tokens", nan)),
    }
    figures = {name: 100 * part / whole if whole else 0.0 for name, (part, whole) in shares.items()}
    both = figures["precision"] + figures["recall"]
    figures["f1"] = 2 * figures["precision"] * figures["recall"] / both if both else 0.0
    return dict(counts) | {name: value for name, value in figures.items() if not isnan(value)}


def _whole(stored: Arrays, split: str) -> dict[str, np.ndarray]:
    """Everything on this split, by its name without `dev.`."""
    on_dev = {name: values for name, values in stored.items() if name.startswith(_DEV)}
    if split == "dev":
        return {name.removeprefix(_DEV): values for name, values in on_dev.items()}
    return {name: values for name, values in stored.items() if name not in on_dev}


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
    table = np.zeros((len(next(iter(types.values()))), len(names), len(counts)), np.int64)
    for (name, _, count), values in zip(keys, types.values(), strict=True):
        table[:, names.index(name), counts.index(count)] = values
    present = np.asarray(table.any(axis=2))  # items, types
    return {
        _NAMES: np.frombuffer(json.dumps([names, counts]).encode(), np.uint8),
        _ROWS: present.sum(axis=1),
        _KIND: present.nonzero()[1],
        _COUNTS: table[present].ravel(),
    }
