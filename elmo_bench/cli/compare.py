"""`elmo-bench compare ENCODER OTHER …`: encoders on every task with runs of all.

Of two encoders it prints the differences, of several their ranks.
"""

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import compared, parser
from elmo_bench.cli.reproduced import print_reproduced
from elmo_bench.ledger import Copies, check_exists, read_all
from elmo_bench.reporting.by_label import by_label
from elmo_bench.reporting.comparisons import compare
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.formats import (
    SEEDS_OF_BOTH,
    VERDICT,
    gain_formats,
    joined,
    words,
)
from elmo_bench.reporting.frame import runs, shown, summary
from elmo_bench.reporting.names import (
    SEEN,
    TRAINED_ON_THE_TASK,
    counted,
    notes_on_marks,
)
from elmo_bench.reporting.pairs import all_pairs, pairs_of
from elmo_bench.reporting.ranks import ranks
from elmo_bench.reporting.remarks import left_out, remarks
from elmo_bench.reporting.rows import rows_of, with_texts_of_python
from elmo_bench.reporting.serving import (
    SERVING,
    serving,
    serving_columns,
    serving_formats,
)
from elmo_bench.reporting.table1_verdicts import table1_verdicts
from elmo_bench.reporting.tables import make_table, with_gains
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.options import guess, is_of_encoder_or_head
from elmo_bench.spec.run_spec import is_drawn
from elmo_bench.spec.task_files import reads_own_data

FAMILY = "p (Holm): adjusted for {} above."
IN_TABLE1 = (
    "in table 1: its verdict, where it differs from the one above. "
    "A report adjusts for all tests of a family of its table 1."
)
EPILOG = """Two encoders: the difference of the mean test scores, its interval over
seeds and items, a verdict with the p-values of all tasks adjusted (Holm). Three or
more: scores, and the mean rank with its interval (Holm over all pairs and tasks)."""


@with_texts_of_python
def main(arguments: list[str]) -> int:
    """Print the table; 1 if a record is refused, or a run is not reproduced.

    Lines on stderr name such records, and the runs that no table shows, which change
    no exit code. Raises UserError if no task has runs of all encoders that can be
    compared.
    """
    options = _parse(arguments)
    encoders = _encoders(options)
    check_exists(options.ledger)
    _check_names(options.ledger, encoders)
    within = [options.suite] if options.suite else ()
    read = read_all(options.ledger, within, metrics=metric_of, copies=Copies(is_drawn))
    frame = runs(options.ledger, read.records)
    print_problems("compare", [*read.problems, *left_out(frame), *remarks(frame)])
    _check_suite(options, frame)
    if options.published:
        are_reproduced = print_reproduced(shown(frame), options.ledger)
        return int(not are_reproduced or bool(read.problems))
    comparing = compared.of_one_suite_and_size(options, shown(frame))
    where = f"suite {comparing.suite.iloc[0]}, size {comparing['size'].iloc[0]}"
    chosen = compared.chosen(comparing, encoders)
    if chosen.empty:
        problem = compared.nothing_to_compare(options, comparing, encoders, where)
        raise UserError(problem)
    print_problems("compare", compared.older(comparing, chosen))
    if len(encoders) > 2:
        _print_several(chosen, frame, where)
    else:
        _print_two(chosen, frame, encoders, where)
    return int(bool(read.problems))


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("compare", EPILOG, ledger=True)
    add = command.add_argument
    add(
        "names",
        nargs="*",
        metavar="ENCODER",
        help="the names of encoders' columns: elmo glove",
    )
    add(
        "--encoder",
        action="append",
        nargs="+",
        default=[],
        metavar=("NAME", "KEY=VALUE"),
        help="an encoder with changes of encoder.*, or with another head, once for "
        "each: --encoder elmo encoder.precision=bfloat16 --encoder elmo head=linear",
    )
    add("--suite", help="whose runs (default: the ledger's, if it has one)")
    add(
        "--published",
        action="store_true",
        help="compare each run with the same run as published, instead of encoders",
    )
    add(
        "--size",
        help="of the heads: cpu or paper (default: the one that the runs have)",
    )
    return command.parse_intermixed_args(arguments)


def _encoders(options: argparse.Namespace) -> list[str]:
    """The labels of the encoders; none for --published.

    Raises UserError for changes of anything else, and for fewer than two encoders.
    """
    if options.published:
        if options.names or options.encoder or options.size:
            raise UserError(
                "--published compares every run. Name no encoder and no --size."
            )
        return []
    encoders = [name.rstrip("/") for name in options.names]
    for name in encoders:
        if "=" in name and ", " not in name:
            raise UserError(
                f"{name}: an option of runs. Name encoders alone: what differs between "
                "runs of one encoder has a row of its own, or --encoder NAME KEY=VALUE."
            )
    for name, *changes in options.encoder:
        _check_changes(name, changes)
        encoders.append(compared.label_of(name, changes))
    are_different = len(set(encoders)) == len(encoders)
    if len(encoders) < 2 or not are_different:
        names = " and ".join(encoders) or "no encoder"
        raise UserError(f"{names}: give two or more different encoders.")
    return encoders


def _check_changes(name: str, changes: Sequence[str]) -> None:
    for change in changes:
        option, equals, _ = change.partition("=")
        if not equals or not is_of_encoder_or_head(option):
            raise UserError(
                f"--encoder {name} {change}: takes encoder.KEY=VALUE and head=NAME "
                "alone. Runs with other changes are in the report's table of all runs."
            )


def _check_names(ledger: Path, encoders: Sequence[str]) -> None:
    """Raise UserError for an encoder without a folder: reading all records is slow."""
    names = {path.name for path in ledger.glob("*/*/*/") if not path.is_symlink()}
    for encoder in encoders:
        # A label may be NAME, CHANGES; or where one of two encoders of a name is.
        name = re.split(r", | \(", encoder)[0].rpartition("/")[2]
        if names and name not in names:
            there = ", ".join(sorted(names))
            raise UserError(
                f"{name}: no runs in {ledger}{guess(name, names)}. It has: {there}."
            )


def _check_suite(options: argparse.Namespace, frame: pd.DataFrame) -> None:
    """Raise UserError if the ledger has runs but none of the chosen suite."""
    if not options.suite or len(frame):
        return
    records = read_all(options.ledger).records
    if records:
        suites = ", ".join(sorted({record.spec.suite for record in records}))
        raise UserError(
            f"--suite {options.suite}: no run in {options.ledger}, which has {suites}"
        )


def _print_two(
    chosen: pd.DataFrame, frame: pd.DataFrame, encoders: Sequence[str], where: str
) -> None:
    """Print a line a task: the difference and its verdict."""
    pairs = []
    lines = []
    for task, group in chosen.groupby("task_name", sort=False):
        ours, theirs = group.to_dict("records")
        pairs.append((ours["hash"], theirs["hash"]))
        lines.append(_line_of_two(task, ours, theirs))
    comparisons = compare(frame, pairs_of(pairs))
    other_verdicts = _other_verdicts(frame, comparisons)
    for line, other in zip(lines, other_verdicts, strict=True):
        line["in_table1"] = other
    of_gain = []
    for column in gain_formats(""):
        if column.heading != SEEDS_OF_BOTH:  # the numbers of seeds have a column
            of_gain.append(column)
    formats = [
        words("task", "task_name"),
        words("seeds", "seeds"),
        *of_gain,
        words("trained numbers", "numbers"),
        words("minutes a run", "minutes"),
        *serving_formats(lines),
    ]
    notes = _notes_of_tests(comparisons)
    if any(other_verdicts):
        headings = [column.heading for column in formats]
        after_verdict = headings.index(VERDICT) + 1
        formats.insert(after_verdict, words("in table 1", "in_table1"))
        notes.append(IN_TABLE1)
    table = make_table("", "", with_gains(pd.DataFrame(lines), comparisons), formats)
    title = f"test scores of {encoders[0]} minus {encoders[1]}, {where}"
    print(f"{title}:\n\n{fitted(table.columns, table.texts())}")
    _print_notes([*table.notes, *notes], chosen, comparisons, frame)


def _other_verdicts(frame: pd.DataFrame, comparisons: pd.DataFrame) -> list[str]:
    """For each comparison the verdict of table 1 and its reason, where it differs. The
    page of data of the user's own has no table 1.
    """
    tasks = set(frame[frame.hash.isin(comparisons.ours)].task)
    if all(map(reads_own_data, tasks)):
        return [""] * len(comparisons)
    pairs = list(zip(comparisons.ours, comparisons.theirs, strict=True))
    suites = frame[frame.hash.isin(comparisons.ours)].suite
    verdicts = table1_verdicts(frame[frame.suite.isin(suites)], pairs)
    others = []
    for pair, verdict in zip(pairs, comparisons.verdict, strict=True):
        other = verdicts.get(pair)
        if other is None or verdict in ("", other.verdict):
            others.append("")
        else:
            others.append(other.reason)
    return others


def _line_of_two(
    task: Any, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, Any]:
    """The columns of a task that are no result of the comparison."""
    both = (ours, theirs)
    return {
        "hash": ours["hash"],
        "task_name": task,
        "seeds": " and ".join(str(system["n"]) for system in both),
        "numbers": " and ".join(f"{system['trainable']:,}" for system in both),
        "minutes": " and ".join(f"{system['work_minutes']:.1f}" for system in both),
        "seen": ours["seen"] or theirs["seen"],
        **serving(both),
    }


def _notes_of_tests(comparisons: pd.DataFrame) -> list[str]:
    notes = []
    tests = int(comparisons.p.notna().sum())
    if tests:
        which = "the test" if tests == 1 else f"the {tests} tests"
        notes.append(FAMILY.format(which))
    return notes


def _print_several(chosen: pd.DataFrame, frame: pd.DataFrame, where: str) -> None:
    """Print encoders x tasks, best mean rank first."""
    by_task = chosen.assign(task=chosen.task_name)
    comparisons = compare(frame, all_pairs(by_task))
    tasks = list(dict.fromkeys(chosen.task_name))
    of_use = serving_columns(chosen)
    of_encoders = ranks(comparisons).rename_axis("name").reset_index()
    body = []
    for rank in rows_of(of_encoders.sort_values(["mean", "name"])):
        cells = [rank.name]
        of_encoder = chosen[chosen.encoder_label == rank.name]
        for system in rows_of(of_encoder):
            score = str(summary(system))
            cells.append(joined(score, system.mark, system.seen))
        mean = joined(f"{rank.mean:.2f}", SEEN if of_encoder.seen.any() else "")
        cells += [mean, f"{rank.low:.2f} to {rank.high:.2f}"]
        body.append([*cells, *of_use.get(rank.name, ())])
    print(
        f"test scores, {where}; "
        "intervals of ranks by the tests of all pairs on all tasks (Holm):\n"
    )
    more = SERVING if of_use else ()
    print(fitted(["encoder", *tasks, "mean rank", "95 % interval", *more], body))
    untested = comparisons[comparisons.untested != ""]
    counts = Counter(zip(untested.task, untested.untested, strict=True))
    notes = []
    for (task, why), count in counts.items():
        notes.append(f"{task}: {counted(count, 'pair')} not tested ({why})")
    if chosen.seen.any():
        notes.append(TRAINED_ON_THE_TASK)
    _print_notes(notes, chosen, comparisons, frame)


def _print_notes(
    notes: Sequence[str],
    chosen: pd.DataFrame,
    comparisons: pd.DataFrame,
    frame: pd.DataFrame,
) -> None:
    """Print these notes, and those about the data and the marks of the systems."""
    _print_labels(chosen, frame)
    notes = list(notes)
    own_data = {row.hash for row in rows_of(chosen) if reads_own_data(row.task)}
    is_tested = comparisons.p.notna()
    tested = comparisons[is_tested & comparisons.ours.isin(own_data)]
    notes += compared.power(list(tested.difference), int(is_tested.sum()))
    notes += compared.answers(chosen[chosen.hash.isin(own_data)], frame)
    notes += notes_on_marks(chosen)
    for note in notes:
        print(f"\n{note}")


def _print_labels(chosen: pd.DataFrame, frame: pd.DataFrame) -> None:
    """Print the scores by label, of data of the user's own."""
    has_several = chosen.basis.nunique() > 1
    for _, group in chosen.groupby("basis", sort=False):
        if not reads_own_data(group.task.iloc[0]):
            continue
        table = by_label(frame, group)
        if table is not None:
            name = f"{group.task_name.iloc[0]}: " if has_several else ""
            title = f"{name}{table.title}"
            if table.folded:
                title += f"; {counted(table.folded, table.kind)} left out"
            print(f"\n{title}:\n\n{fitted(table.columns, table.texts(table.shown))}")
