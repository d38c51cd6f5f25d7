"""`elmo-bench check RECORD [--gold FILE]`: whether a record from elsewhere is whole, and what its predictions score."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmo_bench import ledger
from elmo_bench.base.errors import UserError, plain
from elmo_bench.cli import parser
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.ledger.outcomes import AGREES
from elmo_bench.spec.describe import command_of, label_of
from elmo_bench.spec.names import metric_of, task_class
from elmo_bench.spec.run_spec import RunSpec, changes_of

OK, WRONG, UNKNOWN = "ok    ", "WRONG ", "not checked: "  # begin the lines
NOT_HERE = "task {} is not installed here. Give its folder: --include FOLDER."
EPILOG = """Checked are the schema, the hash, whether every score follows from the outcomes of the items, and what
the predictions score, if they were kept (predictions=true). Of a ledger, all files that tables leave out are listed."""


def main(arguments: list[str]) -> int:
    """Print a line for each thing that was checked, of a ledger for each that is wrong; 1 if one is wrong.

    Raises UserError for a file that is not there, and for one in the wrong place.
    """
    command = parser("check", EPILOG)
    command.add_argument("record", type=Path, help="LEDGER/suite/task/encoder/hash/seed<k>.json, or a ledger")
    command.add_argument("--gold", type=Path, help="the gold of test, where a file of predictions does not hold it")
    options = command.parse_args(arguments)
    path = Path(os.path.abspath(options.record))  # without `..`  # noqa: PTH100
    lines = list(_ledger(path) if path.is_dir() else _record(path, options.gold))
    print(*map(plain, lines), sep="\n")
    return int(any(line.startswith(WRONG) for line in lines))


def _ledger(root: Path) -> Iterator[str]:
    from elmo_bench.reporting.frame import runs as frame_of
    from elmo_bench.reporting.remarks import left_out

    read = ledger.read_all(root, metrics=metric_of)
    if not (read.records or read.problems) and any(root.iterdir()):
        raise UserError(f"{root}: no run in it. Give the folder of the records, or one record.")
    runs = [RunPaths.of(root, record) for record in read.records]
    problems = [*read.problems, *left_out(frame_of(root, read.records))]
    strange = [run for run in runs if metric_of(run.task) is None]
    for run in strange:
        try:
            ledger.read_outcomes(run)
        except UserError as error:
            problems.append(str(error))
    known = {run.record for run in runs}
    for path in sorted({*root.rglob("seed*.json")} - known):
        if not any(problem.startswith(f"{path}:") for problem in read.problems):
            problems.append(f"{path}: not where a run of a ledger is, so no table has it. Move it, or remove it.")
    yield f"{OK}{len(read.records):,} records"
    for task, count in Counter(run.task for run in strange).items():
        yield f"{UNKNOWN}scores of {count:,} records: {NOT_HERE.format(task)}"
    yield from (f"{WRONG}{problem}" for problem in problems)


def _record(path: Path, gold: Path | None) -> Iterator[str]:
    try:
        record = ledger.read_record(path)
    except UserError as error:
        if not path.exists():
            raise
        yield f"{WRONG}{error}"
        return
    paths = RunPaths.of(path.parents[4] if len(path.parents) > 4 else path.parent, record)
    if paths.record != path:
        raise UserError(f"{path}: belongs at {'/'.join(paths.record.parts[-5:])} of a ledger. Put it there.")
    problems = ledger.read_all(paths.ledger, (paths.suite, paths.task), metrics=metric_of).problems
    original = f" as seed {paths.seed} of {paths.hash}, so one of the two is a copy"
    wrong = [problem for problem in problems if problem.startswith(f"{path}: ") or problem.endswith(original)]
    yield from _about(record)
    yield from [f"{WRONG}{problem.removeprefix(f'{path}: ')}" for problem in wrong] or [_outcomes(record, paths)]
    yield _predictions(record, paths, gold)


def _about(record: Record) -> Iterator[str]:
    spec = RunSpec.of_record(record)
    changed = label_of(spec)
    label = f", {changed}" if changed else ""
    version, protocol = (spec.settings.get(key, "?") for key in ("task.version", "protocol"))
    yield (
        f"{OK}record: {spec.task} {spec.encoder}{label}, seed {record.seed}, suite {spec.suite}, size {spec.size}, "
        f"task version {version}, protocol {protocol}; schema and hash agree with its content"
    )
    try:
        yield f"{OK}made again by: {command_of(spec, record.seed)}"
    except UserError as error:
        yield f"{WRONG}this installation cannot make it again: {error}"
    right = changes_of(record)
    if record.changes is not None and right not in (None, record.changes):
        yield f"{WRONG}record.changes: not what its settings change. Run elmo-bench merge."
    code = record.environment
    if code.commit is None or code.dirty is not False:
        yield f"{WRONG}the code that made it is not known: no commit, or uncommitted changes"


def _outcomes(record: Record, paths: RunPaths) -> str:
    """What `read_all` checked without a problem. Raises UserError if the outcomes cannot be read."""
    ledger.read_outcomes(paths)
    if metric_of(task := record.spec.task) is None:
        return f"{UNKNOWN}scores: {NOT_HERE.format(task)}"
    return f"{OK}outcomes of the items on dev and test add up to all scores"


def _predictions(record: Record, paths: RunPaths, gold: Path | None) -> str:
    files = [] if paths.work.is_symlink() else sorted(paths.work.glob("test.predictions.*"))
    files = [file for file in files if not file.is_symlink()]
    if not files:
        return f"{OK}no predictions on test were kept"
    metric: Any = task_class(record.spec.task, "metric")()
    if (main := record.metric) != metric.main:
        return f"{WRONG}the main score is {main}; here the task has {metric.main}"
    needed = [*([gold] if gold else []), files[0]]
    if len(needed) < len(metric.files):
        return f"{OK}predictions on test: not scored; give {metric.files[0]} with --gold"
    scores, said = metric.score_files(*needed[-len(metric.files) :]), record.scores.test.overall[main]
    scored = scores.get("overall", scores.get("scores", scores))[main]  # where the official scorer of the task puts it
    text = f"predictions on test: score {main} {scored:.2f}; the record says {said:.2f}"
    return f"{WRONG if abs(scored - said) > AGREES else OK}{text}"
