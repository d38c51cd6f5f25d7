"""The systems that `compare` compares: of one suite and size, on the same data."""

import argparse
import shlex
from collections.abc import Sequence

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.reporting.advice import advice, advice_pairs
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.frame import shown, systems
from elmo_bench.reporting.names import in_paper_order
from elmo_bench.reporting.rows import rows_of
from elmo_bench.reporting.significance import LEVEL, Difference
from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import floor_of, reads_own_data
from elmo_bench.spec.tuning import (
    FROZEN,
    TUNE,
    TUNED_RATE,
    USUAL_RATES,
    WAYS,
    tuned_name,
)

POINTS = 2.0  # a difference that most people would like to see
# Of the answer, whose tests may be others than those of the table above it.
ADJUSTED_APART = (
    "The table is adjusted for the tests that it has, an answer below for its own: "
    "the best on dev, and the floor, each against every other system."
)


def label_of(name: str, changes: Sequence[str]) -> str:
    """The name in tables of an encoder with these changes, each `key=value`.

    Raises UserError for an unknown way of tuning, and a rate that is not a number.
    """
    options = dict(change.split("=", 1) for change in changes)
    way = options.pop(TUNE, FROZEN)
    if way not in WAYS:
        raise UserError(f"{TUNE}={way}: give one of: {', '.join(WAYS)}")
    if way in USUAL_RATES:
        rate = options.pop(TUNED_RATE, str(USUAL_RATES[way]))
        try:
            name = tuned_name(name, {TUNE: way, TUNED_RATE: float(rate)})
        except ValueError:
            raise UserError(f"{TUNED_RATE}={rate}: give a number") from None
    others = [f"{key}={value}" for key, value in sorted(options.items())]
    return ", ".join([name, *others])


def of_one_suite_and_size(
    options: argparse.Namespace, frame: pd.DataFrame
) -> pd.DataFrame:
    """The runs that compare encoders, of one suite and size.

    Raises UserError if there are none, or if there are several suites or sizes and the
    options choose none.
    """
    frame = frame[frame.variation == ""]
    if frame.empty:
        raise UserError(
            f"{options.ledger}: no run to compare. "
            "Runs that change an option are left out."
        )
    for option in ("suite", "size"):
        values = sorted(set(frame[option]))
        value = getattr(options, option)
        if not value and len(values) > 1:
            names = " and ".join(values)
            raise UserError(
                f"{options.ledger} has runs of --{option} {names}. Give one of them."
            )
        if value and value not in values:
            raise UserError(
                f"--{option} {value}: no run to compare in {options.ledger}, "
                f"which has {' and '.join(values)}. Give one of these."
            )
        frame = frame[frame[option] == (value or values[0])]
    return frame


def chosen(frame: pd.DataFrame, encoders: Sequence[str]) -> pd.DataFrame:
    """The systems of these encoders on one basis of each task that has all of them.

    They use all of the data. A task has the newest of its bases; each label column of
    data of the user's own is a task. An encoder has the newest of its systems on a
    basis: see `older`. Adds `task_name`.
    """
    table = _newest_of_labels(systems(frame))
    table = table[table.fraction.isin(("", f"{QUICK}=true"))]
    table = table.assign(task_name=_task_names(table))
    newest: dict[str, tuple[str, pd.DataFrame]] = {}
    for _, group in table.groupby("basis", sort=False):
        of_encoders = group[group.encoder_label.isin(encoders)]
        if of_encoders.encoder_label.nunique() < len(encoders):
            continue
        created = frame[frame.hash.isin(group.hash)].created.max()
        name = group.task_name.iloc[0]
        if name not in newest or created >= newest[name][0]:
            order = of_encoders.encoder_label.map(encoders.index).sort_values()
            newest[name] = created, of_encoders.loc[order.index]
    if not newest:
        return table.iloc[:0]
    groups = pd.concat([group for _, group in newest.values()])
    order = in_paper_order(set(groups.task))
    groups["_position"] = groups.task.map(order.index)
    groups = groups.sort_values(["_position", "task_name"], kind="stable")
    return groups.drop(columns="_position")


def _newest_of_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The newest system of each encoder on each basis.

    Several of one label differ in options that say how data are read, such as the name
    of a column that was guessed for the other, and have the same examples.
    """
    by_time = table.sort_values(["created", "hash"])
    newest = by_time.drop_duplicates(["basis", "encoder_label"], keep="last")
    return table[table.hash.isin(newest.hash)]


def older(frame: pd.DataFrame, chosen: pd.DataFrame) -> list[str]:
    """A line for each chosen system that has the place of an older one."""
    table = systems(frame)
    lines = []
    for system in rows_of(chosen):
        is_same = table.encoder_label == system.encoder_label
        others = table[is_same & (table.basis == system.basis)]
        if len(others) > 1:
            lines.append(
                f"{system.task_name}, {system.encoder_label}: older runs on the same "
                "examples, with other options of how to read data, are left out."
            )
    return lines


def _task_names(table: pd.DataFrame) -> list[str]:
    names = []
    for system in rows_of(table):
        has_own_data = reads_own_data(system.task)
        names.append(system.group_name if has_own_data else system.task)
    return names


def answers(chosen: pd.DataFrame, frame: pd.DataFrame) -> list[str]:
    """Which system to use on each data set of the user's own.

    A floor that the runs have counts although it was not named: a sweep's answer
    depends on the same tests. frame: all runs.
    """
    if chosen.empty:
        return []
    table = _newest_of_labels(systems(shown(frame[frame.variation == ""])))
    sentences = []
    adjusted_apart = False
    has_several = chosen.basis.nunique() > 1
    for basis, group in chosen.groupby("basis", sort=False):
        is_floor = table.encoder == floor_of(group.task.iloc[0])
        is_named = table.hash.isin(group.hash)
        floor = table[is_floor & ~is_named & (table.basis == basis)]
        candidates = pd.concat([group, floor])
        tests = compare(frame, advice_pairs(candidates))
        title = f"{group.task_name.iloc[0]}: " if has_several else ""
        for sentence in advice(candidates, tests):
            sentences.append(f"{title}{sentence}")
        is_of_all_pairs = len(tests) == len(candidates) * (len(candidates) - 1) // 2
        if len(floor) or has_several or not is_of_all_pairs:
            adjusted_apart = True
    if sentences and adjusted_apart:
        return [ADJUSTED_APART, *sentences]
    return sentences


def nothing_to_compare(
    options: argparse.Namespace,
    frame: pd.DataFrame,
    encoders: Sequence[str],
    where: str,
) -> str:
    names = " and ".join(encoders)
    missing = f"no task in {options.ledger} has comparable runs of {names} on {where}"
    others = set(frame[frame.fraction == ""].encoder_label)
    if others >= set(encoders):
        return (
            f"{missing}: theirs are of other tasks, "
            "or differ in data, task version or protocol."
        )
    there = ", ".join(map(_as_given, sorted(others))) or "none"
    return (
        f"{missing}. Encoders with runs on all of the data "
        f"that change nothing else, as they are given: {there}."
    )


def _as_given(label: str) -> str:
    """An encoder as the command takes it: `elmo`, `--encoder elmo head=linear`.

    A tuned one by its name in tables, in quotation marks.
    """
    name, *changes = label.split(", ")
    if not all("=" in change for change in changes):
        return shlex.quote(label)
    return f"--encoder {' '.join([name, *changes])}" if changes else name


def power(differences: Sequence[Difference], tests: int) -> list[str]:
    """What data of the user's own can show, and what POINTS would take.

    By the least certain of these differences, at the level of the first step of Holm's
    adjustment for so many tests.
    """
    varying = [difference for difference in differences if difference.error]
    if not varying:
        return []
    alpha = (1 - LEVEL) / max(1, tests)
    widest = max(varying, key=lambda difference: difference.detectable_at(alpha))
    items = round(widest.items.df) + 1
    times = widest.repeats_for(POINTS, alpha)
    if times > 1:
        conclusion = (
            f"For {POINTS:g} points, {times:,.1f} times as many seeds and "
            f"about {items * times:,.0f} items would be needed."
        )
    else:
        conclusion = f"So these data can show {POINTS:g} points."
    points = widest.detectable_at(alpha)
    least = f"a difference of {points:.1f} points" if points < 100 else "no difference"
    return [
        f"With {items:,} independent test items and these seeds, four of five "
        f"comparisons find {least}. {conclusion}"
    ]
