"""Carry out a sweep: give each run that is not done an attempt, launch all, and look each up in the ledger."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.base.progress import Meter, console
from elmo_bench.ledger import new_attempt, settings_key
from elmo_bench.ledger.store import read_record_at
from elmo_bench.runner.finished import contents_of, finished
from elmo_bench.runner.launchers import Command, Ended, Job, launch
from elmo_bench.runner.plan import Plan, PlannedRun
from elmo_bench.runner.states import LedgerState, RunState, source_of
from elmo_bench.spec.names import metric_of

MEMORY = 2 * 2**30  # bytes that a run is expected to need if no comparable run is in the ledger
VISIBLE = 10.0  # seconds until a file that another machine wrote is visible in a shared folder


def run_sweep(plan: Plan, command: Command, meter: Meter | None = None) -> Iterator[RunState]:
    """Carry out the runs; yields the result of each as it ends, finished ones first. They start no process.

    command: the command line of this program, which ends the process; local runs are children that call it.
    The meter shows what the others print meanwhile. Raises UserError for a launcher that cannot start.
    """
    options: dict[str, Any] = OmegaConf.to_container(plan.launcher, resolve=True)  # type: ignore[assignment]
    done = {} if plan.overwrite else _finished(plan)
    yield from done.values()
    if not (runs := [run for run in plan.runs if run not in done]):
        return
    logs = Path(options["logs"]) / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{new_attempt()[:6]}"
    try:
        logs.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"launcher.logs={options['logs']}: cannot be written ({error.strerror or error})") from None
    console.print(f"logs in {logs}", highlight=False, markup=False)
    jobs = _jobs(plan, runs, logs)
    running = {job.attempt: job for job in jobs}
    for ended in launch(jobs, options | {"jobs": plan.workers}, command):
        if ended is not None:
            del running[ended.job.attempt]
            yield look_up(plan.ledger, ended)
        elif meter is not None:
            started = [job for job in running.values() if job.log.is_file()]
            meter.show({job.run.title: (_lines(job.log) or [""])[-1] for job in started})


def _finished(plan: Plan) -> dict[PlannedRun, RunState]:
    """The runs that have a record on today's files, in order."""
    contents: dict[str, dict[str, Any] | None] = {}
    done = {}
    for run in plan.runs:
        if (sources := canonical(run.sources)) not in contents:
            contents[sources] = contents_of(run.sources)
        if paths := finished(plan.ledger, run.spec, run.seed, contents[sources]):
            with suppress(UserError):  # its process will say what is wrong with the record
                done[run] = RunState(run, "skipped", read_record_at(paths, metrics=metric_of))
    return done


def _jobs(plan: Plan, runs: Sequence[PlannedRun], logs: Path) -> list[Job]:
    """A job for each run, with the memory that the largest comparable run took.

    A peak of a GPU's memory says nothing of the machine's.
    """
    peaks: dict[tuple[str, str, str], float] = {}
    jobs = []
    for number, run in enumerate(runs, start=1):
        group = (run.spec.suite, run.spec.task, run.spec.encoder)
        if group not in peaks:
            costs = (r["cost"] for r in LedgerState(plan.ledger, run).records if r["environment"]["device"] == "cpu")
            peaks[group] = max((cost["peak_memory_mib"] * 2**20 for cost in costs), default=MEMORY)
        log = logs / f"{number:03}-{run.spec.task}-{run.spec.encoder}-seed{run.seed}.log"
        jobs.append(Job(run, new_attempt(), log, int(peaks[group])))
    return jobs


def look_up(ledger: Path, ended: Ended) -> RunState:
    """What the ledger says of a job that ended. The exit code says only whether there is something to find.

    In this order: the record of our attempt, who works on the run, and a record of an earlier attempt.
    """
    run, attempt = ended.job.run, ended.job.attempt
    deadline = time.monotonic() + VISIBLE
    while True:
        state = LedgerState(ledger, run)
        own = [each for each in state.records if (each["seed"], settings_key(each["spec"])) == (run.seed, run.spec.key)]
        own.sort(key=lambda record: source_of(record) == run.sources["source"])  # one path may be spelt in two ways
        for record in (record for record in own if record["attempt"] == attempt):
            return RunState(run, "done", record)
        if ended.code == 0 and (holder := state.holders.get((run.spec.key, run.seed))):
            return RunState(run, "held", note=holder)
        if ended.code == 0 and own:
            return RunState(run, "skipped", own[-1])
        if ended.code != 0 or time.monotonic() > deadline:
            return RunState(run, "failed", note=_why(ended), code=2 if ended.code == 2 else 1)
        time.sleep(0.5)


def _why(ended: Ended) -> str:
    """Why a process left no record: how it ended, or the last line of its log, which is all there is of bad input."""
    log, why = ended.log or ended.job.log, ended.why
    if not why:
        lines = _lines(log) if log.is_file() else []
        last = lines[-1] if lines else "it printed nothing"
        why = redacted(last.removeprefix("elmo-bench run: ")) if ended.code else f"it ended without a record ({last})"
    return why if ended.code == 2 else f"{why}; see {log}"


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
