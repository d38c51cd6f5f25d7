"""A sweep: its runs, known from the options alone; give each an attempt, launch all, look each up in the ledger.

Reads no data and no weights, and imports no torch.
"""

import itertools
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.base.progress import Meter, console
from elmo_bench.ledger import Ledger, Record, new_attempt, read_all, read_holders, read_record, settings_key
from elmo_bench.runner.finished import Sources, contents_of, finished, sources_of
from elmo_bench.runner.launchers import Ended, Job, launch
from elmo_bench.runner.launchers.local import limit
from elmo_bench.spec.config import compose, sweep
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.spec.settings import check_given, check_options

ONCE = ("ledger", "overwrite", "launcher")  # options with one value for all runs of a sweep


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep, before it starts."""

    spec: RunSpec
    seed: int
    options: tuple[str, ...]  # that make it, as `run` takes them
    sources: Sources = field(compare=False)  # of its data, weights and vectors

    @property
    def title(self) -> str:
        """The options, as one line, or without any what the defaults are; addresses are redacted."""
        return redacted(" ".join(self.options)) or f"task={self.spec.task} encoder={self.spec.encoder} seed={self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep and what they share."""

    runs: list[PlannedRun]
    ledger: Path
    overwrite: bool  # make runs again that have a record
    launcher: DictConfig  # a node of conf/launcher
    device: str  # cpu or cuda


def plan(options: Sequence[str]) -> Plan:
    """Every combination of the options' values, in order, each run once; of an experiment's sweeps, one by one.

    Raises UserError for an option or value that is wrong in any of the runs.
    """
    check_given(options)
    products = sweep(options)
    for values in (values for product in products for values in product):
        key = _option(values[0]) if values else ""
        if len(values) > 1 and key.split(".")[0] in ONCE:
            raise UserError(f"{key} has {len(values)} values, but all runs of a sweep share it. Give one value.")
    runs: dict[str, PlannedRun] = {}
    known: dict[tuple[str, ...], tuple[RunSpec, Sources]] = {}  # by the options but the seed, which changes no spec
    seeds: dict[tuple[str, ...], int] = {}
    first = None
    for options_ in (combined for product in products for combined in itertools.product(*product)):
        given = tuple(option for option in options_ if _option(option) == "seed")
        rest = tuple(option for option in options_ if option not in given)
        if rest in known and given in seeds:
            (spec, sources), seed = known[rest], seeds[given]
        else:
            config = compose("config", options_)
            check_options(config)
            first = first or config
            spec, seed = RunSpec.of(config), config.seed
            sources = sources_of(spec, Setup.of(config))
            seeds[given] = seed
            if "${seed" not in str(config):  # no option takes its value from the seed
                known[rest] = spec, sources
        title = tuple(option for option in options_ if _option(option).split(".")[0] != "launcher")
        runs.setdefault(canonical([spec.key, seed, sources]), PlannedRun(spec, seed, title, sources))
    if first is None:
        raise UserError("no run: an option has no values")
    ledger, device = Path(first.ledger), first.trainer.device
    return Plan(list(runs.values()), ledger, bool(first.overwrite), first.launcher, device)


def _option(given: str) -> str:
    """`mix.penalty` of `mix.penalty=1` or `+mix.penalty=1`."""
    return given.partition("=")[0].lstrip("+~")


MEMORY = 2 * 2**30  # bytes that a run is expected to need if no comparable run is in the ledger
FULL = 2**14  # bytes; with less room on its disk, a log may stay empty
VISIBLE = 10.0  # seconds until a file that another machine wrote is visible in a shared folder


@dataclass(frozen=True)
class Result:
    """The outcome of a planned run."""

    run: PlannedRun
    state: str  # done: its record is new; skipped: it was in the ledger; held: left to another process; failed
    record: Record | None = None  # of a run that is done or skipped
    note: str = ""  # of a failed run the error, of a held one who works on it
    code: int = 0  # for the exit code: 2 bad input, 1 any other failure


def workers(plan: Plan) -> int | None:
    """How many runs are made at once; None if the launcher's system decides."""
    return plan.launcher.jobs or (limit(plan.device) if plan.launcher.name == "local" else None)


def run_sweep(plan: Plan, meter: Meter | None = None) -> Iterator[Result]:
    """Carry out the runs; yields the result of each as it ends, finished ones first. They start no process.

    The meter shows what the others say meanwhile. Raises UserError for a launcher that cannot start.
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
    console.print(f"logs in {logs}", highlight=False, markup=False)
    jobs = _jobs(plan, runs, logs)
    running = {job.attempt: job for job in jobs}
    with _watching(running, meter):
        for ended in launch(jobs, options, plan.ledger):
            del running[ended.job.attempt]
            yield look_up(plan.ledger, ended)


@contextmanager
def _watching(running: Mapping[str, Job], meter: Meter | None) -> Iterator[None]:
    """Show the last line of each log once a second, while the block runs."""
    stop = Event()

    def watch() -> None:
        while meter is not None and not stop.wait(1.0):
            started = [job for job in list(running.values()) if job.log.is_file()]
            meter.show({job.run.title: (_lines(job.log) or [""])[-1] for job in started})

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").strip().splitlines()


def _finished(plan: Plan) -> dict[PlannedRun, Result]:
    """The runs that have a record on today's files, in order."""
    contents: dict[str, dict[str, Any] | None] = {}
    done = {}
    for run in plan.runs:
        if (sources := canonical(run.sources)) not in contents:
            contents[sources] = contents_of(run.sources)
        if paths := finished(plan.ledger, run.spec, run.seed, contents[sources]):
            with suppress(UserError):  # its process will say what is wrong with the record
                done[run] = Result(run, "skipped", read_record(paths.record))
    return done


def look_up(ledger: Path, ended: Ended) -> Result:
    """What the ledger says of a job that ended. The exit code says only whether there is something to find."""
    deadline = time.monotonic() + VISIBLE
    while True:
        result = _found(ledger, ended)
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
            memory[group] = _memory(_read(plan.ledger, run).records)
        log = logs / f"{number:03}-{run.spec.task}-{run.spec.encoder}-seed{run.seed}.log"
        jobs.append(Job(run, new_attempt(), log, memory[group], plan.device, plan.overwrite))
    return jobs


def _memory(records: Sequence[Record]) -> int:
    """What the largest comparable run took; a peak of a GPU's memory says nothing of the machine's."""
    peaks = [r["cost"]["peak_memory_mib"] for r in records if r["environment"]["device"] == "cpu"]
    return int(max(peaks) * 2**20) if peaks else MEMORY


def _read(ledger: Path, run: PlannedRun) -> Ledger:
    return read_all(ledger, suite=run.spec.suite, task=run.spec.task, encoder=run.spec.encoder)


def _found(folder: Path, ended: Ended) -> Result | None:
    """In this order: what carries our attempt, who works on the run, and a record of an earlier attempt."""
    run, attempt = ended.job.run, ended.job.attempt
    ledger = _read(folder, run)
    same = [record for record in ledger.records if _is(run, record)]
    for record in same:
        if record["attempt"] == attempt:
            return Result(run, "done", record)
    for _, failure in ledger.failures:
        if failure["attempt"] == attempt:
            return Result(run, "failed", note=failure["error"], code=2 if failure["user_error"] else 1)
    if ended.code != 0:
        return None
    for holder in read_holders(folder, suite=run.spec.suite, task=run.spec.task, encoder=run.spec.encoder):
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
        lines = _lines(log) if log.is_file() else []
        full = not lines and log.is_file() and shutil.disk_usage(log.parent).free < FULL
        last = lines[-1] if lines else "the disk is full" if full else "it printed nothing"
        why = last if ended.code else f"it ended without a record ({last})"
    return f"{why}; see {log}"
