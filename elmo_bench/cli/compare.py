"""`elmo-bench compare ENCODER OTHER …`: two encoders on every task with runs of both, or several with their ranks."""

import argparse
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import check_exists, read_all
from elmo_bench.reporting.comparisons import compare, ranks
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.formats import SEEN, gain_formats, shown_conclusion, words
from elmo_bench.reporting.frame import runs, shown, summary, systems
from elmo_bench.reporting.names import DAGGER, NOT_CHECKED, NOT_CONVERGED, UNCHECKED, counted, in_paper_order
from elmo_bench.reporting.pairs import all_pairs, pairs_of
from elmo_bench.reporting.remarks import left_out, remarks
from elmo_bench.reporting.significance import Difference
from elmo_bench.reporting.tables import lines_of, make_table, with_gains
from elmo_bench.spec.config import reads_own_data
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.settings import of_system

POINTS = 2.0  # a difference that most people would like to see
CHANGED = "an encoder with changes of encoder.* or another head, once for each: --encoder elmo head=linear"
FAMILY = "p (Holm): adjusted for {} above. A report adjusts for all tests of its table 1, so its verdicts may differ."
EPILOG = """Two encoders: the difference of the mean test scores, its interval over seeds and items, a verdict with the
p-values of all tasks adjusted (Holm). Three or more: scores, and the mean rank with its interval (Holm over all pairs
and tasks)."""


def main(arguments: list[str]) -> int:
    """Print the table; 1 if a record is left out. Raises UserError if no task has runs of all that can be compared."""
    options = _parse(arguments)
    encoders = _encoders(options)
    check_exists(options.ledger)
    read = read_all(options.ledger, [options.suite] if options.suite else (), metrics=metric_of)
    frame = runs(options.ledger, read.records)
    print_problems("compare", [*read.problems, *left_out(frame), *remarks(frame)])
    _check_suite(options, frame)
    comparing = _of_one_suite_and_size(options, shown(frame))
    where = f"suite {comparing.suite.iloc[0]}, size {comparing['size'].iloc[0]}"
    chosen = _chosen(comparing, encoders)
    if chosen.empty:
        raise UserError(_nothing_to_compare(options, comparing, encoders, where))
    if len(encoders) > 2:
        _print_several(chosen, frame, where)
    else:
        _print_two(chosen, frame, encoders, where)
    return int(bool(read.problems))


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("compare", EPILOG, ledger=True)
    add = command.add_argument
    add("names", nargs="*", metavar="ENCODER", help="the names of encoders' columns: elmo glove")
    add("--encoder", action="append", nargs="+", default=[], metavar=("NAME", "KEY=VALUE"), help=CHANGED)
    add("--suite", help="whose runs (default: the ledger's, if it has one)")
    add("--size", help="of the heads: cpu or paper (default: the one that the runs have)")
    return command.parse_intermixed_args(arguments)


def _encoders(options: argparse.Namespace) -> list[str]:
    """The labels of the encoders. Raises UserError for changes of anything else, and for fewer than two encoders."""
    encoders = list(options.names)
    for name, *changes in options.encoder:
        for change in changes:
            if not (of_system(change.partition("=")[0]) and "=" in change):
                why = "takes encoder.KEY=VALUE and head=NAME alone. Runs with other changes are in the report's table of all runs."
                raise UserError(f"--encoder {name} {change}: {why}")
        # The order of `RunSpec.changes`.
        changes.sort(key=lambda change: (not change.startswith("head="), change))
        encoders.append(", ".join([name, *changes]))
    if len(set(encoders)) < max(2, len(encoders)):
        raise UserError(f"{' and '.join(encoders) or 'no encoder'}: give two or more different encoders.")
    return encoders


def _check_suite(options: argparse.Namespace, frame: pd.DataFrame) -> None:
    """Raise UserError, with the suites that there are, if the ledger has runs but none of the chosen suite."""
    if not options.suite or len(frame):
        return
    records = read_all(options.ledger).records
    if records:
        suites = ", ".join(sorted({record["spec"]["suite"] for record in records}))
        raise UserError(f"--suite {options.suite}: no run in {options.ledger}, which has {suites}")


def _of_one_suite_and_size(options: argparse.Namespace, frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that compare encoders, of one suite and size. Raises UserError if there are none, or of several."""
    frame = frame[frame.variation == ""]
    if frame.empty:
        raise UserError(f"{options.ledger}: no run to compare. Runs that change an option are left out.")
    for option in ("suite", "size"):
        values = sorted(set(frame[option]))
        chosen = getattr(options, option)
        if not chosen and len(values) > 1:
            raise UserError(f"{options.ledger} has runs of --{option} {' and '.join(values)}. Give one of them.")
        frame = frame[frame[option] == (chosen or values[0])]
    return frame


def _chosen(frame: pd.DataFrame, encoders: Sequence[str]) -> pd.DataFrame:
    """The systems of these encoders on one basis of each task that has all of them, on all of the data.

    A task has the newest of its bases; each label column of data of the user's own is a task. Adds `task_name`.
    """
    table = systems(frame)
    table = table[table.fraction == ""]
    names = zip(table.task, table.group_name, strict=True)
    table = table.assign(task_name=[name if reads_own_data(task) else task for task, name in names])
    newest: dict[str, tuple[str, pd.DataFrame]] = {}
    for _, group in table.groupby("basis", sort=False):
        of_encoders = group[group.encoder_label.isin(encoders)]
        created = frame[frame.hash.isin(group.hash)].created.max()
        name = group.task_name.iloc[0]
        has_all = of_encoders.encoder_label.nunique() == len(encoders)
        if has_all and created >= newest.get(name, ("",))[0]:
            order = of_encoders.encoder_label.map(encoders.index).sort_values()
            newest[name] = created, of_encoders.loc[order.index]
    if not newest:
        return table.iloc[:0]
    groups = pd.concat([group for _, group in newest.values()])
    order = in_paper_order(set(groups.task))
    groups["_position"] = groups.task.map(order.index)
    return groups.sort_values(["_position", "task_name"], kind="stable").drop(columns="_position")


def _nothing_to_compare(options: argparse.Namespace, frame: pd.DataFrame, encoders: Sequence[str], where: str) -> str:
    missing = f"no task in {options.ledger} has comparable runs of {' and '.join(encoders)} on {where}"
    others = set(frame[frame.fraction == ""].encoder_label)
    if others >= set(encoders):
        return f"{missing}: theirs are of other tasks, or differ in data, task version or protocol."
    names = ", ".join(sorted(others)) or "none"
    return f"{missing}. Encoders with runs on all of the data that change nothing else: {names}."


def _print_two(chosen: pd.DataFrame, frame: pd.DataFrame, encoders: Sequence[str], where: str) -> None:
    """Print a line a task: the difference and its verdict."""
    pairs, more = [], []
    for task, group in chosen.groupby("task_name", sort=False):
        ours, theirs = group.to_dict("records")
        pairs.append((ours["hash"], theirs["hash"]))
        both = (ours, theirs)
        more.append({
            "hash": ours["hash"],
            "task_name": task,
            "seeds": " and ".join(str(system["n"]) for system in both),
            "numbers": " and ".join(f"{system['trainable']:,}" for system in both),
            "minutes": " and ".join(f"{system['work_minutes']:.1f}" for system in both),
        })  # fmt: skip
    comparisons = compare(frame, pairs_of(pairs))
    *of_gain, _ = gain_formats("")  # without the numbers of seeds, which have a column
    formats = [words("task", "task_name"), words("seeds", "seeds"), *of_gain]
    formats += [words("trained numbers", "numbers"), words("minutes a run", "minutes")]
    table = make_table("", "", with_gains(pd.DataFrame(more), comparisons), formats)
    body = fitted(table.columns, table.texts())
    print(f"test scores of {encoders[0]} minus {encoders[1]}, {where}:\n\n{body}")
    notes = list(table.notes)
    lines = lines_of(comparisons)
    if any(shown_conclusion(line) != line["conclusion"] for line in lines):
        notes.append(SEEN)
    tests = int(comparisons.p.notna().sum())
    if tests:
        notes.append(FAMILY.format("the test" if tests == 1 else f"the {tests} tests"))
    _print_notes(notes, chosen, comparisons)


def _print_several(chosen: pd.DataFrame, frame: pd.DataFrame, where: str) -> None:
    """Print encoders x tasks, best mean rank first."""
    by_task = chosen.assign(task=chosen.task_name)
    comparisons = compare(frame, all_pairs(by_task))
    body = []
    tasks = list(dict.fromkeys(chosen.task_name))
    ordered = ranks(comparisons).rename_axis("name").reset_index().sort_values(["mean", "name"])
    for rank in ordered.itertuples():
        cells = [rank.name]
        for system in chosen[chosen.encoder_label == rank.name].itertuples():
            cells.append(f"{summary(system, 'test')} {system.mark}".strip())
        body.append([*cells, f"{rank.mean:.2f}", f"{rank.low:.2f} to {rank.high:.2f}"])
    print(f"test scores, {where}; intervals of ranks by the tests of all pairs on all tasks (Holm):\n")
    print(fitted(["encoder", *tasks, "mean rank", "95 % interval"], body))
    untested = comparisons[comparisons.untested != ""]
    counts = Counter(zip(untested.task, untested.untested, strict=True))
    notes = [f"{task}: {counted(count, 'pair')} not tested ({why})" for (task, why), count in counts.items()]
    _print_notes(notes, chosen, comparisons)


def _print_notes(notes: Sequence[str], chosen: pd.DataFrame, comparisons: pd.DataFrame) -> None:
    notes = list(notes)
    own_data = {row.hash for row in chosen.itertuples() if reads_own_data(row.task)}
    differences = comparisons[comparisons.ours.isin(own_data)].difference
    notes.extend(power([difference for difference in differences if difference is not None]))
    marks = set(chosen["mark"])
    if DAGGER in marks:
        notes.append(NOT_CONVERGED)
    if NOT_CHECKED in marks:
        notes.append(UNCHECKED)
    for note in notes:
        print(f"\n{note}")


def power(differences: Sequence[Difference]) -> list[str]:
    """What data of the user's own can show, by the least certain of these differences, and what POINTS would take."""
    varying = [difference for difference in differences if difference.error]
    if not varying:
        return []
    widest = max(varying, key=lambda difference: difference.detectable)
    items, times = round(widest.items.df) + 1, (widest.detectable / POINTS) ** 2
    conclusion = f"So these data can show {POINTS:g} points."
    if times > 1:
        more = f"about {items * times:,.0f} of them and {times:,.0f} times as many seeds would be needed."
        conclusion = f"For {POINTS:g} points, {more}"
    finding = f"four of five comparisons find a difference of {widest.detectable:.1f} points."
    return [f"With {items:,} test items and these seeds, {finding} {conclusion}"]
