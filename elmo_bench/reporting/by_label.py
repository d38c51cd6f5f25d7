"""Scores of each label of data of the user's own, by system."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from elmo_bench.reporting.rows import rows_of

MOST = 20  # labels that are shown, the most frequent


class ByLabel(NamedTuple):
    """A table: a line for each label, a column for each system."""

    measure: str  # F1, or recall where that is all that is counted
    header: list[str]
    body: list[list[str]]
    left_out: int  # labels


def by_label(runs: pd.DataFrame, systems: pd.DataFrame) -> ByLabel | None:
    """Test scores of systems on one data set, means over seeds; None without labels."""
    seeds = {}
    for system in rows_of(systems):
        own = runs[runs.hash == system.hash]
        seeds[system.run_label] = [scores.test.by_type for scores in own.scores]
    counts = _gold(seeds)
    if len(counts) < 2:
        return None
    measure = "f1" if _all_have(seeds, "f1") else "recall"
    labels = sorted(counts, key=lambda label: (-counts[label], label))
    body = []
    for label in labels[:MOST]:
        means = [_mean(types, label, measure) for types in seeds.values()]
        body.append([label, f"{counts[label]:,}", *means])
    header = ["label", "in test", *seeds]
    name = {"f1": "F1"}.get(measure, measure)
    return ByLabel(name, header, body, max(0, len(labels) - MOST))


def _gold(seeds: dict[str, list[Any]]) -> dict[str, int]:
    """How many test items or spans each label has."""
    counts: dict[str, int] = {}
    for types in seeds.values():
        for by_type in types:
            for label, figures in by_type.items():
                gold = int(figures.get("gold", 0))
                if gold:
                    counts[label] = gold
    return counts


def _all_have(seeds: dict[str, list[Any]], measure: str) -> bool:
    for types in seeds.values():
        for by_type in types:
            if not all(measure in figures for figures in by_type.values()):
                return False
    return True


def _mean(types: Sequence[Any], label: str, measure: str) -> str:
    found = [by_type.get(label, {}).get(measure, 0.0) for by_type in types]
    return f"{fmean(found):.1f}"
