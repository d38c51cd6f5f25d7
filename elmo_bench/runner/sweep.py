"""Carry out a sweep: give each run that is not done an attempt, launch all, and look
each up in the ledger."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.progress import Meter, console
from elmo_bench.ledger import (
    Record,
    RunPaths,
    new_attempt,
    read_record_at,
    settings_key,
)
from elmo_bench.runner.finished import Finished
from elmo_bench.runner.jobs import Ended, Job
from elmo_bench.runner.launchers import Command, launch
from elmo_bench.runner.plan import Plan, PlannedRun
from elmo_bench.runner.run import is_complete
from elmo_bench.runner.states import LedgerState, RunState
from elmo_bench.spec.names import metric_of

# Bytes that a run is expected to need if no comparable run is in the ledger.
MEMORY = 2 * 2**30
# Seconds until a file that another machine wrote is visible in a shared folder.
VISIBLE = 10.0


def run_sweep(
    plan: Plan, command: Command, meter: Meter | None = None
) -> Iterator[RunState]:
    """Carry out the runs; yields the result of each as it ends, finished ones first.

    Finished ones start no process. command: the command line of this program, which
    ends the process; local runs are children that call it. The meter shows what the
    others print meanwhile. A run whose record does not pass the check has failed.
    Raises UserError for a launcher that cannot start.
    """
    done = {} if plan.overwrite else _finished(plan)
    yield from done.values()
    runs = [run for run in plan.runs if run not in done]
    if not runs:
        return
    options: Any = OmegaConf.to_container(plan.launcher, resolve=True)
    logs = _log_folder(Path(options["logs"]))
    console.print(f"logs in {logs}", highlight=False, markup=False)
    jobs = _jobs(plan, runs, logs)
    running = {job.attempt: job for job in jobs}
    for ended in launch(jobs, options | {"jobs": plan.workers}, command):
        if ended is not None:
            del running[ended.job.attempt]
            yield _checked(look_up(plan.ledger, ended), plan.ledger)
        elif meter is not None:
            meter.show(_last_lines(running.values()))


def _log_folder(parent: Path) -> Path:
    """A new folder for the logs of this sweep. Raises UserError."""
    logs = parent / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{new_attempt()[:6]}"
    try:
        logs.mkdir(parents=True)
    except OSError as error:
        raise UserError(
            f"launcher.logs={parent}: cannot be written ({error.strerror or error})"
        ) from None
    return logs


def _last_lines(jobs: Any) -> dict[str, str]:
    """What each job that has started printed last."""
    shown = {}
    for job in jobs:
        if job.log.is_file():
            lines = _lines(job.log) or [""]
            shown[job.run.title] = lines[-1]
    return shown


def _finished(plan: Plan) -> dict[PlannedRun, RunState]:
    """The runs that have a record on today's files, in order."""
    finished = Finished(plan.ledger)
    done = {}
    for run in plan.runs:
        paths = finished.find(run.spec, run.setup, run.seed)
        if paths is None:
            continue
        # The run's process will say what is wrong with the record.
        with suppress(UserError):
            record = read_record_at(paths, metrics=metric_of)
            if is_complete(record, run.setup):
                done[run] = RunState(run, "skipped", record)
    return done


def _checked(result: RunState, ledger: Path) -> RunState:
    """The result; failed if its record does not pass the check."""
    if result.record is not None:
        try:
            read_record_at(RunPaths.of(ledger, result.record), metrics=metric_of)
        except UserError as error:
            return RunState(result.run, "failed", note=str(error), code=2)
    return result


def _jobs(plan: Plan, runs: Sequence[PlannedRun], logs: Path) -> list[Job]:
    """A job for each run, with the memory that the largest comparable run took."""
    peaks: dict[tuple[str, str, str], int] = {}
    jobs = []
    for number, run in enumerate(runs, start=1):
        spec = run.spec
        group = (spec.suite, spec.task, spec.encoder)
        if group not in peaks:
            peaks[group] = _peak(LedgerState(plan.ledger, run).records)
        name = f"{number:03}-{spec.task}-{spec.encoder}-seed{run.seed}.log"
        jobs.append(Job(run, new_attempt(), logs / name, peaks[group]))
    return jobs


def _peak(records: Sequence[Record]) -> int:
    """The most bytes that one of these runs took.

    A peak of a GPU's memory says nothing of the machine's.
    """
    peaks = []
    for record in records:
        if record.environment.device == "cpu":
            peaks.append(record.cost.peak_memory_mib * 2**20)
    return int(max(peaks, default=MEMORY))


def look_up(ledger: Path, ended: Ended) -> RunState:
    """What the ledger says of a job that ended.

    The exit code says only whether there is something to find. In this order: the
    record of our attempt, who works on the run, and a record of an earlier attempt.
    """
    run = ended.job.run
    deadline = time.monotonic() + VISIBLE
    while True:
        state = LedgerState(ledger, run)
        records = _of_run(state.records, run)
        for record in records:
            if record.attempt == ended.job.attempt:
                return RunState(run, "done", record)
        holder = state.holders.get((run.spec.key, run.seed))
        if ended.code == 0 and holder:
            return RunState(run, "held", note=holder)
        if ended.code == 0 and records:
            record = records[-1]
            paths = Finished(ledger).find(run.spec, run.setup, run.seed)
            if paths is not None:  # of today's files; without `files` nobody can tell
                record = read_record_at(paths, metrics=metric_of)
            return RunState(run, "skipped", record)
        if ended.code != 0 or time.monotonic() > deadline:
            code = 2 if ended.code == 2 else 1
            return RunState(run, "failed", note=_why(ended), code=code)
        time.sleep(0.5)


def _of_run(records: Sequence[Record], run: PlannedRun) -> list[Record]:
    """The records of a run; those whose encoder came from the same path are last.

    One path may be spelt in two ways.
    """
    same = []
    for record in records:
        if run.is_of(record.seed) and settings_key(record.spec) == run.spec.key:
            same.append(record)
    source = run.setup.source
    return sorted(same, key=lambda record: record.environment.source == source)


def _why(ended: Ended) -> str:
    """Why a process left no record.

    How it ended, or the last line of its log, which is all there is of bad input.
    """
    log = ended.log or ended.job.log
    why = ended.why or _last_words(ended, log)
    return why if ended.code == 2 else f"{why}; see {log}"


def _last_words(ended: Ended, log: Path) -> str:
    lines = _lines(log) if log.is_file() else []
    last = lines[-1] if lines else _why_empty(log)
    if not ended.code:
        return f"it ended without a record ({last})"
    return redacted(last.removeprefix("elmo-bench run: "))


def _why_empty(log: Path) -> str:
    """What is known of a process whose log is empty: perhaps the disk is full."""
    probe = log.with_name(f"{log.name}.probe")
    try:
        probe.write_bytes(bytes(4096))
    except OSError as error:
        return f"its log cannot be written ({error.strerror or error}). Free some space"
    finally:
        probe.unlink(missing_ok=True)
    return "it printed nothing"


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
