"""The top of the page of the user's own data: which system to use, what each scores and
takes, the scores of each label, and the data.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from elmo_bench.base.metric import MACRO_F1
from elmo_bench.reporting.advice import (
    advice,
    advice_pairs,
    best_first,
    both_ways,
    floor_in,
)
from elmo_bench.reporting.by_label import by_label
from elmo_bench.reporting.cards import about, card, licence
from elmo_bench.reporting.columns import fraction_of
from elmo_bench.reporting.formats import (
    gain_column,
    number,
    score,
    seeds,
    spread,
    words,
)
from elmo_bench.reporting.frame import rows_where
from elmo_bench.reporting.names import counted, task_unit
from elmo_bench.reporting.pairs import pairs_of
from elmo_bench.reporting.selection import of_newest_protocol
from elmo_bench.reporting.serving import serving_numbers
from elmo_bench.reporting.tables import Format, Table, make_table
from elmo_bench.spec.settings import QUICK

ANSWER = "answer"  # the purpose of its tests
BEST = 20  # systems of a data set that it shows, besides the floor
WITH_LABELS = 5  # of these, whose scores by label are shown
TOGETHER = (
    "Gains are of test. The tests of this table ({}) are judged together, and so are "
    "their intervals."
)


class Answer(NamedTuple):
    """What the page of a data set begins with."""

    sentences: list[str]  # none of a single system
    tables: list[Table]
    data: list[str]  # a line each


def answer_pairs(of_suite: pd.DataFrame) -> pd.DataFrame:
    """What is tested for the answers. The tests of one data set are a family."""
    pairs = [pairs_of([], "family")]
    for basis, shown in _shown(of_suite):
        pairs.append(advice_pairs(shown).assign(family=basis))
    return pd.concat(pairs, ignore_index=True)


def answers(
    of_suite: pd.DataFrame, runs: pd.DataFrame, comparisons: pd.DataFrame
) -> list[Answer]:
    """An answer for each data set of a suite.

    comparisons: `comparisons.compare` of `answer_pairs`.
    """
    of_groups = []
    groups = list(_shown(of_suite))
    for basis, shown in groups:
        before = f"{shown.group_name.iloc[0]}: " if len(groups) > 1 else ""
        tests = comparisons[comparisons.family == basis]
        sentences = [f"{before}{sentence}" for sentence in advice(shown, tests)]
        tables = list(_tables(shown, runs, tests, before))
        whole = of_suite[of_suite.basis == basis]
        left_out = len(whole) - len(shown)
        if left_out:
            tables[0].notes.append(f"{counted(left_out, 'more run')}: see All runs.")
        of_groups.append(Answer(sentences, tables, _data(shown)))
    return of_groups


def _shown(of_suite: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """By basis, the systems on all of a data set, the best on dev first: of many the
    best, and the floor.
    """
    latest = of_newest_protocol(of_suite, of_suite)
    on_all = (fraction_of(spec).keys() <= {QUICK} for spec in latest.spec)
    whole = rows_where(latest, on_all)
    for basis, group in whole[whole.labels == ""].groupby("basis", sort=False):
        by_dev = best_first(group)
        is_floor = by_dev.hash == floor_in(by_dev)
        of_encoders = (~is_floor).cumsum()
        yield str(basis), by_dev[is_floor | (of_encoders <= BEST)]


def _tables(
    shown: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame, before: str
) -> Iterator[Table]:
    """The scores and costs of the systems, and the scores of each label."""
    first = shown.iloc[0]
    is_floor = shown.hash == floor_in(shown)
    frame = shown.copy()
    gains = []
    over = [*shown[is_floor].to_dict("records"), first.to_dict()]
    for reference in {system["hash"]: system for system in over}.values():
        heading = f"gain over {reference['run_label']}"
        gains.append(_gain_over(frame, heading, tests, reference["hash"]))
    macro = [] if first.metric == MACRO_F1 else [spread("test macro-F1", "macro_f1")]
    formats = [
        words("system", "run_label"),
        score("dev", first.metric_name),
        score("test", first.metric_name),
        *macro,
        *gains,
        *serving_numbers(),
        number("minutes a run", "work_minutes", ".1f"),
        seeds(),
    ]
    count = int(tests.p.notna().sum())
    yield make_table(
        f"{first.stem}-answer",
        _title(before, "scores and costs, best on dev first"),
        frame,
        formats,
        notes=[TOGETHER.format(count)] if count > 1 else [],
    )
    with_labels = pd.concat([shown[~is_floor][:WITH_LABELS], shown[is_floor]])
    labels = by_label(runs, with_labels, stem=f"{first.stem}-labels")
    if labels:
        yield replace(labels, title=_title(before, labels.title))


def _title(before: str, title: str) -> str:
    return f"{before}{title}" if before else f"{title[0].upper()}{title[1:]}"


def _gain_over(
    frame: pd.DataFrame, heading: str, tests: pd.DataFrame, reference: str
) -> Format:
    """The gain of each system over one of them."""
    both = both_ways(tests)
    over = both[both.theirs == reference].drop_duplicates("ours").set_index("ours")
    anchors = frame.set_index("hash").anchor
    gains = over.assign(anchor=anchors.reindex(over.index), seen="")
    return gain_column(frame, heading, gains, "hash")


def _data(shown: pd.DataFrame) -> list[str]:
    """How large the splits are, and what the runs noted on the data."""
    first = shown.iloc[0]
    unit = task_unit(first.task)
    sizes = (
        f"{first.train:,} {unit} to train on, {first.dev_items:,} of dev and "
        f"{first.test_items:,} of test"
    )
    return [sizes, *first.notes]


def encoders_table(systems: pd.DataFrame) -> Table:
    """What each encoder is, and the licence of its weights."""
    distinct = systems.drop_duplicates("encoder_label").sort_values("encoder_label")
    lines = []
    for encoder, spec in zip(distinct.encoder_label, distinct.spec, strict=True):
        lines.append(
            {
                "encoder": encoder,
                "about": about(spec),
                "licence": licence(spec),
                "card": card(spec),
            }
        )
    suite = systems.suite.iloc[0]
    formats = [
        words("encoder", "encoder", link=""),
        words("what it is", "about", link=""),
        words("licence of its weights", "licence", link=""),
        words("card", "card", link=""),
    ]
    return make_table(
        f"{suite}-encoders", f"Encoders, suite {suite}", pd.DataFrame(lines), formats
    )
