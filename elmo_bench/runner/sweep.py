"""A sweep: give every planned run an attempt, launch all of them, and look each up in the ledger."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import canonical
from elmo_bench.base.progress import console
from elmo_bench.ledger import Progress, Summary, new_attempt, read_progress, read_summary, settings_key
from elmo_bench.runner.finished import contents_of, finished
from elmo_bench.runner.launchers import Ended, Job, launch
from elmo_bench.runner.plan import Plan, PlannedRun

MEMORY = 2 * 2**30  # bytes that a run is expected to need if no comparable run is in the ledger
FULL = 2**14  # bytes; with less room on its disk, a log may stay empty
VISIBLE = 10.0  # seconds until a file that another machine wrote is visible in a shared folder


@dataclass(frozen=True)
class Result:
    """The outcome of a planned run."""

    run: PlannedRun
    state: str  # done: its record is new; skipped: it was in the ledger; held: left to another process; failed
    record: Summary | None = None  # of a run that is done or skipped
    note: str = ""  # of a failed run the error, of a held one who works on it
    code: int = 0  # for the exit code: 2 bad input, 1 any other failure


def run_sweep(plan: Plan) -> Iterator[Result]:
    """Carry out the runs; yields the result of each as it ends, finished ones first. They start no process.

    Raises UserError for a launcher that cannot start.
    """
    options: dict[str, Any] = OmegaConf.to_container(plan.launcher, resolve=True)  # type: ignore[assignment]
    if options["jobs"] is not None and (type(options["jobs"]) is not int or options["jobs"] < 1):
        raise UserError(f"launcher.jobs={options['jobs']}: give a whole number from 1, or null")
    done = {} if plan.overwrite else _finished(plan)
    yield from done.values()
    if not (runs := [run for run in plan.runs if run not in done]):
        return
    logs = Path(options["logs"]) / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{new_attempt()[:6]}"
    try:
        logs.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"launcher.logs={options['logs']}: cannot be written ({error.strerror or error})") from None
    console.print(f"{len(runs)} run{'s' * (len(runs) > 1)}, logs in {logs}", highlight=False, markup=False)
    for ended in launch(_jobs(plan, runs, logs), options, plan.ledger):
        yield look_up(plan.ledger, ended)


def _finished(plan: Plan) -> dict[PlannedRun, Result]:
    """The runs that have a record on today's files, in order."""
    contents: dict[str, dict[str, Any] | None] = {}
    done = {}
    for run in plan.runs:
        if (sources := canonical(run.sources)) not in contents:
            contents[sources] = contents_of(run.sources)
        if paths := finished(plan.ledger, run.spec, run.seed, contents[sources]):
            with suppress(UserError):  # its process will say what is wrong with the record
                done[run] = Result(run, "skipped", read_summary(paths))
    return done


def look_up(ledger: Path, ended: Ended) -> Result:
    """What the ledger says of a job that ended. The exit code says only whether there is something to find."""
    deadline = time.monotonic() + VISIBLE
    while True:
        result = _found(_read(ledger, ended.job.run), ended)
        if result is not None:
            return result
        if ended.code != 0 or time.monotonic() > deadline:
            return Result(ended.job.run, "failed", note=_without_trace(ended), code=2 if ended.code == 2 else 1)
        time.sleep(0.5)


def _jobs(plan: Plan, runs: Sequence[PlannedRun], logs: Path) -> list[Job]:
    memory: dict[tuple[str, str, str], int] = {}
    jobs = []
    for number, run in enumerate(runs, start=1):
        group = (run.spec.suite, run.spec.task, run.spec.encoder)
        if group not in memory:
            memory[group] = _memory(_read(plan.ledger, run).summaries)
        log = logs / f"{number:03}-{run.spec.task}-{run.spec.encoder}-seed{run.seed}.log"
        jobs.append(Job(run, new_attempt(), log, memory[group], plan.device, plan.overwrite))
    return jobs


def _memory(records: Sequence[Summary]) -> int:
    """What the largest comparable run took; a peak of a GPU's memory says nothing of the machine's."""
    peaks = [record["peak_memory_mib"] for record in records if record["device"] == "cpu"]
    return int(max(peaks) * 2**20) if peaks else MEMORY


def _read(ledger: Path, run: PlannedRun) -> Progress:
    return read_progress(ledger, suite=run.spec.suite, task=run.spec.task, encoder=run.spec.encoder)


def _found(ledger: Progress, ended: Ended) -> Result | None:
    """In this order: what carries our attempt, who works on the run, and a record of an earlier attempt."""
    run, attempt = ended.job.run, ended.job.attempt
    same = [record for record in ledger.summaries if _is(run, record)]
    for record in same:
        if record["attempt"] == attempt:
            return Result(run, "done", record)
    for _, failure in ledger.failures:
        if failure["attempt"] == attempt:
            return Result(run, "failed", note=failure["error"], code=2 if failure["user_error"] else 1)
    if ended.code != 0:
        return None
    for holder in ledger.holders:
        if holder["spec"] is not None and _is(run, holder):
            return Result(run, "held", note=f"{holder['machine']}, process {holder['pid']}")
    if same:
        return Result(run, "skipped", max(same, key=lambda record: record["created"]))
    return None


def _is(run: PlannedRun, content: object) -> bool:
    return content["seed"] == run.seed and settings_key(content["spec"]) == run.spec.key  # type: ignore[index]


def _without_trace(ended: Ended) -> str:
    """Of a process that left neither record nor failure."""
    log = ended.log or ended.job.log
    why = ended.why
    if not why:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
        full = not lines and log.is_file() and shutil.disk_usage(log.parent).free < FULL
        last = lines[-1] if lines else "the disk is full" if full else "it printed nothing"
        why = last if ended.code else f"it ended without a record ({last})"
    return f"{why}; see {log}"
