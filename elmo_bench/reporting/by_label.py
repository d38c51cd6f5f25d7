"""Scores of each label of data of the user's own, by system."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd

from elmo_bench.reporting.formats import number, words
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.tables import Table, make_table

MOST = 20  # labels that a page shows at once, the most frequent
OF = "of "  # before the name of a system, which may be that of another column
Figures = Mapping[str, Mapping[str, float]]  # of each label of one run


def by_label(
    runs: pd.DataFrame, systems: pd.DataFrame, *, stem: str = ""
) -> Table | None:
    """Test scores of systems on one data set, means over seeds: a line for each label,
    a column for each system. None without labels.

    They are F1, or recall where nothing else is counted. stem: of the table's files.
    """
    seeds = {}
    for system in rows_of(systems):
        of_system = runs[runs.hash == system.hash]
        seeds[system.run_label] = [scores.test.by_type for scores in of_system.scores]
    counts = _gold(seeds)
    if len(counts) < 2:
        return None
    has_f1 = _all_have(seeds, "f1") or _all_have(seeds, "guessed")
    labels = sorted(counts, key=lambda label: (-counts[label], label))
    lines = []
    for label in labels:
        line: dict[str, Any] = {"label": label, "gold": counts[label]}
        for name, types in seeds.items():
            figures = [by_type.get(label, {}) for by_type in types]
            score = _f1 if has_f1 else _recall
            line[f"{OF}{name}"] = fmean(map(score, figures))
        lines.append(line)
    formats = [
        words("label", "label", link=""),
        number("in test", "gold", ",", link=""),
    ]
    for name in seeds:
        formats.append(number(name, f"{OF}{name}", ".1f", link=""))
    measure = "F1" if has_f1 else "recall"
    title = f"{measure} of each label on test, mean over seeds"
    return make_table(
        stem, title, pd.DataFrame(lines), formats, most=MOST, kind="rarer label"
    )


def _gold(seeds: Mapping[str, Sequence[Figures]]) -> dict[str, int]:
    """How many test items or spans each label has."""
    counts: dict[str, int] = {}
    for types in seeds.values():
        for by_type in types:
            for label, figures in by_type.items():
                gold = int(figures.get("gold", 0))
                if gold:
                    counts[label] = gold
    return counts


def _all_have(seeds: Mapping[str, Sequence[Figures]], measure: str) -> bool:
    for types in seeds.values():
        for by_type in types:
            if not all(measure in figures for figures in by_type.values()):
                return False
    return True


def _f1(figures: Mapping[str, float]) -> float:
    """As counted, or from what was guessed of a label; 0 of a label without either."""
    if "f1" in figures:
        return figures["f1"]
    both = figures.get("guessed", 0) + figures.get("gold", 0)
    return 200 * figures.get("correct", 0) / both if both else 0.0


def _recall(figures: Mapping[str, float]) -> float:
    return figures.get("recall", 0.0)
