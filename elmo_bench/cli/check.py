"""`elmo-bench check RECORD [--gold FILE]`: whether a record from elsewhere is whole, and what its predictions score."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.ledger.outcomes import AGREES, formula
from elmo_bench.spec.config import VERSIONS
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec


class Finding(NamedTuple):
    """One line about a record; `wrong` if it speaks against it."""

    text: str
    wrong: bool = False


def main(arguments: list[str]) -> int:
    """Print a line for each thing that was checked. The exit code is 1 if one is wrong.

    Raises UserError for a file that is not there, and for one in the wrong place.
    """
    parser = argparse.ArgumentParser(
        prog="elmo-bench check",
        description="Check a record from elsewhere: its schema, its hash, whether the outcomes of its items add up to "
        "its scores, and what its predictions score, if they were kept (predictions=true).",
    )
    parser.add_argument("record", type=Path, help="LEDGER/suite/task/encoder/hash/seed<k>.json")
    parser.add_argument("--gold", type=Path, help="the gold of test, where a file of predictions does not hold it")
    options = parser.parse_args(arguments)
    path = Path(os.path.abspath(options.record))  # without `..`  # noqa: PTH100
    try:
        record = ledger.read_record(path)
    except UserError as error:
        if not path.exists():
            raise
        print(f"WRONG {error}")
        return 1
    paths = RunPaths.of(path.parents[4] if len(path.parents) > 4 else path.parent, record)
    if paths.record != path:
        raise UserError(f"{options.record}: belongs at {'/'.join(paths.record.parts[-5:])} of a ledger. Put it there.")
    problems = ledger.read_all(paths.ledger, suite=paths.suite, task=paths.task, sums=True).problems
    original = f" as seed {paths.seed} of {paths.hash}, so one of the two is a copy"
    wrong = [problem for problem in problems if problem.startswith(f"{path}: ") or problem.endswith(original)]
    findings = [*_about(record), *(Finding(problem.removeprefix(f"{path}: "), wrong=True) for problem in wrong)]
    findings += [*([] if wrong else _outcomes(record, paths)), *_predictions(record, paths, options.gold)]
    for finding in findings:
        print(f"{'WRONG ' if finding.wrong else 'ok    '}{finding.text}")
    return int(any(finding.wrong for finding in findings))


def _about(record: Record) -> Iterator[Finding]:
    spec = RunSpec(**record["spec"])
    label = f", {spec.label}" if spec.label else ""
    version, protocol = (spec.settings.get(key, "?") for key in ("task.version", "protocol"))
    yield Finding(
        f"record: {spec.task} {spec.encoder}{label}, seed {record['seed']}, suite {spec.suite}, size {spec.size}, "
        f"task version {version}, protocol {protocol}; schema and hash agree with its content"
    )
    try:
        today = spec.default().settings
        outdated = any(spec.settings.get(key) != today.get(key) for key in VERSIONS)
        yield Finding(f"made again by: {spec.command(record['seed'])}")
    except UserError as error:
        yield Finding(f"this installation cannot make it again: {error}", wrong=True)
    else:
        if outdated:
            yield Finding("the task, the encoder or the protocol has a newer version here: tables keep the two apart")
    code = record["environment"]
    if code["commit"] is None or code["dirty"] is not False:
        yield Finding("the code that made it is not known: no commit, or uncommitted changes", wrong=True)


def _outcomes(record: Record, paths: RunPaths) -> Iterator[Finding]:
    """What `read_all` summed without a problem. Raises UserError if the outcomes cannot be read."""
    stored, main = ledger.read_outcomes(paths), record["metric"]
    try:
        formula(record["formula"], record["spec"]["task"])
    except UserError as error:
        yield Finding(str(error))
        return
    for split, scores in (("dev", record["scores"]["dev"]), ("test", record["scores"]["test"])):
        items, said = len(next(iter(ledger.of_split(stored, split).values()))), scores["overall"][main]
        yield Finding(f"outcomes on {split}: {items:,} items add up to {main} {said:.2f}, and to all other figures")


def _predictions(record: Record, paths: RunPaths, gold: Path | None) -> Iterator[Finding]:
    files = [] if paths.work.is_symlink() else sorted(paths.work.glob("test.predictions.*"))
    files = [file for file in files if not file.is_symlink()]
    if not files:
        yield Finding("no predictions on test were kept")
        return
    metric: Any = task_class(record["spec"]["task"], "metric")()
    if (main := record["metric"]) != metric.main:
        yield Finding(f"the main score is {main}; here the task has {metric.main}", wrong=True)
        return
    needed = [*([gold] if gold else []), files[0]]
    if len(needed) < len(metric.files):
        yield Finding(f"predictions on test: not scored; give {metric.files[0]} with --gold")
        return
    if len(needed) > len(metric.files):
        yield Finding("predictions on test hold their gold: --gold has no use")
        return
    scores, said = metric.score_files(*needed), record["scores"]["test"]["overall"][main]
    scored = scores.get("overall", scores.get("scores", scores))[main]  # where the official scorer of the task puts it
    text = f"predictions on test: score {main} {scored:.2f}; the record says {said:.2f}"
    yield Finding(text, wrong=abs(scored - said) > AGREES)
