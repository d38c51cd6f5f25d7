"""`elmo-bench check RECORD [--gold FILE]`: whether a record from elsewhere is sound.

It also scores the record's predictions again, if they were kept.
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from elmo_bench import ledger
from elmo_bench.base.errors import UserError, plain
from elmo_bench.cli import parser
from elmo_bench.cli.inputs import record_in
from elmo_bench.ledger import Copies, Record, RunPaths
from elmo_bench.ledger.outcomes import AGREES
from elmo_bench.spec.describe import command_of, label_of
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec, changes_of, is_drawn

# Beginnings of the lines.
OK = "ok    "
WRONG = "WRONG "
UNKNOWN = "not checked: "
NOT_HERE = "task {} is not installed here. Give its folder: --include FOLDER."
OTHER_CHANGES = "record.changes: not what its settings change. Run elmo-bench merge."
EPILOG = """Checked are the schema, the hash, whether every score follows from the
outcomes of the items, and what the predictions score, if they were kept
(predictions=true). Of a ledger, all files that tables leave out are listed."""


def main(arguments: list[str]) -> int:
    """Print a line for each thing that was checked, of a ledger for each that is wrong.

    The exit code is 1 if one is wrong. Raises UserError for a file that is not there,
    for one in the wrong place, and for a --gold that nothing reads.
    """
    options = _parse(arguments)
    path = Path(os.path.abspath(options.record))  # without `..`  # noqa: PTH100
    if path.is_dir() and options.gold is not None:
        raise UserError(f"--gold {options.gold}: give one record, not a ledger")
    checks = _ledger(path) if path.is_dir() else _record(path, options.gold)
    lines = list(checks)
    for line in lines:
        print(plain(line))
    return int(any(line.startswith(WRONG) for line in lines))


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("check", EPILOG)
    command.add_argument(
        "record",
        type=Path,
        help="LEDGER/suite/task/encoder/hash/seed<k>.json, or a ledger",
    )
    command.add_argument(
        "--gold",
        type=Path,
        help="the gold of test, where a file of predictions does not hold it",
    )
    return command.parse_args(arguments)


def _ledger(root: Path) -> Iterator[str]:
    """The lines about a ledger. Raises UserError if it has no run."""
    read = ledger.read_all(root, metrics=metric_of, copies=Copies(is_drawn))
    if not (read.records or read.problems):
        raise UserError(
            f"{root}: no run in it. Give the folder of the records, or one record."
        )
    runs = [RunPaths.of(root, record) for record in read.records]
    not_installed = [run for run in runs if metric_of(run.task) is None]
    problems = [
        *read.problems,
        *_left_out(root, read.records),
        *_unreadable(not_installed),
    ]
    problems += _misplaced(root, {run.record for run in runs}, problems)
    yield f"{OK}{len(read.records):,} records"
    for task, count in Counter(run.task for run in not_installed).items():
        yield f"{UNKNOWN}scores of {count:,} records: {NOT_HERE.format(task)}"
    for problem in problems:
        yield f"{WRONG}{problem}"
    for run in _with_other_changes(root, read.records):
        yield f"{WRONG}{run.record}: {OTHER_CHANGES}"


def _with_other_changes(root: Path, records: list[Record]) -> Iterator[RunPaths]:
    """The first record of each hash whose `changes` do not follow from its settings.

    Tables take a record's word for them.
    """
    changes: dict[str, dict[str, str] | None] = {}
    found: set[str] = set()
    for record in records:
        run_hash = record.hash
        if run_hash not in changes:
            changes[run_hash] = changes_of(record)
        if run_hash not in found and _states_others(record, changes[run_hash]):
            found.add(run_hash)
            yield RunPaths.of(root, record)


def _states_others(record: Record, right: dict[str, str] | None) -> bool:
    """Whether a record states other changes than the right ones, if these are known."""
    return record.changes is not None and right not in (None, record.changes)


def _left_out(root: Path, records: list[Record]) -> list[str]:
    """A line for each record that tables leave out."""
    from elmo_bench.reporting.frame import runs
    from elmo_bench.reporting.remarks import left_out

    return left_out(runs(root, records))


def _unreadable(runs: list[RunPaths]) -> list[str]:
    """A line for each run whose outcomes cannot be read."""
    problems = []
    for run in runs:
        try:
            ledger.read_outcomes(run)
        except UserError as error:
            problems.append(str(error))
    return problems


def _misplaced(root: Path, records: set[Path], problems: list[str]) -> list[str]:
    """A line for each file with a record's name that is not a record of the ledger.

    Files that `problems` name are left out.
    """
    lines = []
    for path in sorted({*root.rglob("seed*.json")} - records):
        if not any(problem.startswith(f"{path}:") for problem in problems):
            lines.append(
                f"{path}: not where a run of a ledger is, so no table has it. "
                "Move it, or remove it."
            )
    return lines


def _record(path: Path, gold: Path | None) -> Iterator[str]:
    """The lines about one record. Raises UserError if it is missing, or misplaced."""
    try:
        record = record_in(path)
    except UserError as error:
        if not path.exists():
            raise
        yield f"{WRONG}{error}"
        return
    paths = _paths_of(path, record)
    yield from _about(record)
    problems = _problems_of(paths)
    if problems:
        for problem in problems:
            yield f"{WRONG}{problem.removeprefix(f'{path}: ')}"
    else:
        yield _outcomes(record, paths)
    yield _predictions(record, paths, gold)


def _paths_of(path: Path, record: Record) -> RunPaths:
    """The paths of the record in its ledger. Raises UserError if it is misplaced."""
    root = path.parents[4] if len(path.parents) > 4 else path.parent
    paths = RunPaths.of(root, record)
    if paths.record != path:
        place = "/".join(paths.record.parts[-5:])
        raise UserError(f"{path}: belongs at {place} of a ledger. Put it there.")
    return paths


def _problems_of(paths: RunPaths) -> list[str]:
    """The problems of a ledger that concern this record."""
    within = (paths.suite, paths.task)
    read = ledger.read_all(
        paths.ledger, within, metrics=metric_of, copies=Copies(is_drawn)
    )
    copied = f" as seed {paths.seed} of {paths.hash}, so one of the two is a copy"
    return [
        problem
        for problem in read.problems
        if problem.startswith(f"{paths.record}: ") or problem.endswith(copied)
    ]


def _about(record: Record) -> Iterator[str]:
    """What the record is of, whether it can be made again, and by which code."""
    spec = RunSpec.of_record(record)
    changed = label_of(spec)
    label = f", {changed}" if changed else ""
    version = spec.settings.get("task.version", "?")
    protocol = spec.settings.get("protocol", "?")
    yield (
        f"{OK}record: {spec.task} {spec.encoder}{label}, seed {record.seed}, "
        f"suite {spec.suite}, size {spec.size}, task version {version}, "
        f"protocol {protocol}; schema and hash agree with its content"
    )
    try:
        yield f"{OK}made again by: {command_of(spec, record.seed)}"
    except UserError as error:
        yield f"{WRONG}this installation cannot make it again: {error}"
    if _states_others(record, changes_of(record)):
        yield f"{WRONG}{OTHER_CHANGES}"
    code = record.environment
    if code.commit is None or code.dirty is not False:
        yield (
            f"{WRONG}the code that made it is not known: "
            "no commit, or uncommitted changes"
        )


def _outcomes(record: Record, paths: RunPaths) -> str:
    """What `read_all` checked without a problem.

    Raises UserError if the outcomes cannot be read.
    """
    ledger.read_outcomes(paths)
    task = record.spec.task
    if metric_of(task) is None:
        return f"{UNKNOWN}scores: {NOT_HERE.format(task)}"
    return f"{OK}outcomes of the items on dev and test add up to all scores"


def _predictions(record: Record, paths: RunPaths, gold: Path | None) -> str:
    """Whether the predictions on test have the score of the record.

    Raises UserError for a --gold that is not read, or cannot be.
    """
    predictions = _kept_predictions(paths)
    if predictions is None:
        _refuse_gold(gold, "the record kept no predictions on test")
        return f"{OK}no predictions on test were kept"
    task = record.spec.task
    main_score = record.metric
    metric = metric_of(task, main_score)
    if metric is None:
        _refuse_gold(gold, f"task {task} is not installed here")
        return f"{UNKNOWN}predictions on test: {NOT_HERE.format(task)}"
    if len(metric.files) == 1:
        _refuse_gold(gold, "the predictions hold the gold of test")
    if main_score != metric.main:
        return f"{WRONG}the main score is {main_score}; here the task has {metric.main}"
    files = [predictions] if gold is None else [gold, predictions]
    if len(files) < len(metric.files):
        gold_file = metric.files[0]
        return f"{OK}predictions on test: not scored; give {gold_file} with --gold"
    try:
        scores = metric.score_files(*files[-len(metric.files) :])
    except UserError as error:
        if gold is not None and str(error).startswith(str(gold)):
            raise
        return f"{WRONG}predictions on test: {error}"
    # Where the official scorer of the task has its main figures.
    figures = scores.get("overall", scores.get("scores", scores))
    scored = figures[main_score]
    recorded = record.scores.test.overall[main_score]
    beginning = WRONG if abs(scored - recorded) > AGREES else OK
    return (
        f"{beginning}predictions on test: score {main_score} {scored:.2f}; "
        f"the record says {recorded:.2f}"
    )


def _refuse_gold(gold: Path | None, why: str) -> None:
    """Raise UserError for a --gold."""
    if gold is not None:
        raise UserError(f"--gold {gold}: nothing reads it: {why}. Leave it out.")


def _kept_predictions(paths: RunPaths) -> Path | None:
    """The file of predictions on test, if it was kept; links are not followed."""
    if paths.work.is_symlink():
        return None
    files = sorted(paths.work.glob("test.predictions.*"))
    return next((file for file in files if not file.is_symlink()), None)
