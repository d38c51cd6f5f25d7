"""The top of the page of the user's own data: which system to use, what each scores and
takes, and the scores of each label.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from elmo_bench.base.metric import MACRO_F1
from elmo_bench.reporting.advice import advice
from elmo_bench.reporting.by_label import by_label
from elmo_bench.reporting.columns import fraction_of
from elmo_bench.reporting.formats import (
    number,
    score,
    seeds,
    short_gain,
    spread,
    words,
)
from elmo_bench.reporting.frame import rows_where
from elmo_bench.reporting.pairs import all_pairs, pairs_of
from elmo_bench.reporting.selection import of_newest_protocol
from elmo_bench.reporting.serving import serving_numbers
from elmo_bench.reporting.tables import Format, Table, make_table, with_gains
from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import floor_of

ANSWER = "answer"  # the purpose of its tests
BEST = 20  # systems of a data set that it shows, besides the floor
TOGETHER = (
    "Differences are of test. The tests of all pairs of these systems ({}) are judged "
    "together, and so are their intervals."
)


class Answer(NamedTuple):
    """What the page of a data set begins with."""

    sentences: list[str]  # none of a single system
    tables: list[Table]


def answer_pairs(of_suite: pd.DataFrame) -> pd.DataFrame:
    """Every pair of the systems that the answers show. Those of one data set are a
    family.
    """
    pairs = [pairs_of([], "family")]
    for basis, shown in _shown(of_suite):
        pairs.append(all_pairs(shown, "run_label").assign(family=basis))
    return pd.concat(pairs, ignore_index=True)


def answers(
    of_suite: pd.DataFrame, runs: pd.DataFrame, comparisons: pd.DataFrame
) -> list[Answer]:
    """An answer for each data set of a suite.

    comparisons: `comparisons.compare` of `answer_pairs`.
    """
    found = []
    groups = list(_shown(of_suite))
    for basis, shown in groups:
        before = f"{shown.group_name.iloc[0]}: " if len(groups) > 1 else ""
        tests = comparisons[comparisons.family == basis]
        sentences = [f"{before}{sentence}" for sentence in advice(shown, tests)]
        found.append(Answer(sentences, list(_tables(shown, runs, tests, before))))
    return found


def _shown(of_suite: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """By basis, the systems on all of a data set, the best on dev first and the floor
    last; of many the best.
    """
    latest = of_newest_protocol(of_suite, of_suite)
    on_all = (fraction_of(spec).keys() <= {QUICK} for spec in latest.spec)
    whole = rows_where(latest, on_all)
    for basis, group in whole[whole.labels == ""].groupby("basis", sort=False):
        by_dev = group.sort_values(
            ["dev_mean", "work_minutes"], ascending=[False, True]
        )
        is_floor = by_dev.encoder == floor_of(by_dev.task.iloc[0])
        yield str(basis), pd.concat([by_dev[~is_floor][:BEST], by_dev[is_floor][:1]])


def _tables(
    shown: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame, before: str
) -> Iterator[Table]:
    """The scores and costs of the systems, and the scores of each label."""
    first = shown.iloc[0]
    floor = floor_of(first.task)
    floors = shown[shown.encoder == floor].hash
    over_floor = tests[tests.theirs.isin(floors)]
    macro = [] if first.metric == MACRO_F1 else [spread("test macro-F1", "macro_f1")]
    formats = [
        words("system", "run_label"),
        score("dev", first.metric_name),
        score("test", first.metric_name),
        *macro,
        _gain_over(f"gain over {floor}"),
        seeds(),
        *serving_numbers(),
        number("minutes a run", "work_minutes", ".1f"),
    ]
    count = int(tests.p.notna().sum())
    notes = [TOGETHER.format(count)] if count > 1 else []
    yield make_table(
        f"{first.stem}-answer",
        _title(before, "scores and costs, best on dev first"),
        with_gains(shown, over_floor),
        formats,
        notes=notes,
    )
    labels = by_label(runs, shown, stem=f"{first.stem}-labels")
    if labels:
        yield replace(labels, title=_title(before, labels.title))


def _title(before: str, title: str) -> str:
    return f"{before}{title}" if before else f"{title[0].upper()}{title[1:]}"


def _gain_over(heading: str) -> Format:
    parts = {"mean": "gain", "low": "family_low", "high": "family_high"}
    return Format(
        heading,
        short_gain,
        parts | {"verdict": "conclusion"},
        hint="conclusion",
        verdict="verdict",
    )
