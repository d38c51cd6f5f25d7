"""A sweep: its runs, known from the options alone; give each an attempt, launch all, look each up in the ledger.

Reads no data and no weights, and imports no torch.
"""

import gc
import itertools
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from omegaconf import DictConfig, OmegaConf

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.base.machine import free_cores, gpus
from elmo_bench.base.progress import Meter, console
from elmo_bench.ledger import Record, minutes_of, new_attempt, read_all, read_holders, settings_key
from elmo_bench.ledger.store import read_record_at
from elmo_bench.runner.finished import Sources, contents_of, finished, sources_of
from elmo_bench.runner.launchers import Ended, Job, launch
from elmo_bench.spec.config import compose, sweep
from elmo_bench.spec.experiments import Experiment
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import RunSpec, Setup, converged
from elmo_bench.spec.settings import check_run

ONCE = ("ledger", "overwrite", "launcher")  # options with one value for all runs of a sweep
MEMORY = 2 * 2**30  # bytes that a run is expected to need if no comparable run is in the ledger
VISIBLE = 10.0  # seconds until a file that another machine wrote is visible in a shared folder
STATES = ("done", "running", "missing")


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

    @cached_property
    def workers(self) -> int | None:
        """How many runs are made at once: by default one for each idle core or GPU; None if a scheduler decides."""
        if self.launcher.jobs is not None or self.launcher.name != "local":
            return self.launcher.jobs
        return max(1, gpus()) if self.device == "cuda" else free_cores()


def plan(options: Sequence[str]) -> Plan:
    """Every combination of the options' values, in order, each run once; of an experiment's sweeps, one by one.

    Raises UserError for an option or value that is wrong in any of the runs.
    """
    products = sweep(options)
    for [first] in (product[0] for product in products if product and product[0][0].startswith("+experiment=")):
        Experiment.load(
            first.partition("=")[2]
        )  # a mistake in its file would else be found by `report`, after all runs
    for values in (values for product in products for values in product):
        key = _option(values[0])
        if len(values) > 1 and key.split(".")[0] in ONCE:
            raise UserError(f"{key} has {len(values)} values, but all runs of a sweep share it. Give one value.")

    @cache
    def described(*options: str) -> tuple[DictConfig, RunSpec, Sources]:
        config = compose("config", options)
        check_run(config)
        spec = RunSpec.of(config)
        return config, spec, sources_of(spec, Setup.of(config))

    runs: dict[str, PlannedRun] = {}
    for combined in (combined for product in products for combined in itertools.product(*product)):
        seeds = [option for option in combined if _option(option) == "seed"]
        alike = "${seed" not in str(combined)  # the spec of all seeds, which is composed once
        config, spec, sources = described(*("seed=0" if alike and each in seeds else each for each in combined))
        seed = described(*seeds)[0].seed if alike and seeds not in ([], ["seed=0"]) else config.seed
        title = tuple(option for option in combined if _option(option).split(".")[0] != "launcher")
        runs.setdefault(canonical([spec.key, seed, sources]), PlannedRun(spec, seed, title, sources))
    shared = Path(config.ledger), bool(config.overwrite), config.launcher, config.trainer.device
    return Plan(list(runs.values()), *shared)


def _option(given: str) -> str:
    """`mix.penalty` of `mix.penalty=1` or `+mix.penalty=1`."""
    return given.partition("=")[0].lstrip("+")


@dataclass(frozen=True)
class RunState:
    """A planned run and its state in the ledger, one of STATES, or after a sweep: done, skipped, held or failed.

    missing: also if another seed has since been run on other data or weights. skipped: it was in the ledger. held:
    left to another process.
    """

    run: PlannedRun
    state: str
    record: Record | None = None  # of a run that is done or skipped
    note: str = ""  # why a run failed, or who works on one that is running or held
    code: int = 0  # of a failed run, for the exit code: 2 bad input, 1 any other failure

    @property
    def converged(self) -> bool:
        return self.record is not None and converged(self.record)


class LedgerState:
    """What a ledger knows of runs, found by the key of their settings. Each file is read once."""

    def __init__(self, ledger: Path, like: PlannedRun | None = None):
        """like: read only the runs of this suite, task and encoder."""
        part = (like.spec.suite, like.spec.task, like.spec.encoder) if like else ()
        gc.disable()  # records have no circles, and looking for some in all of them takes longer than reading
        try:
            records, self.problems = read_all(ledger, part)
        finally:
            gc.enable()
        self.records = sorted(records, key=lambda record: record["created"])  # the newest last
        self.holders = {  # who works on a run now
            (settings_key(holder["spec"]), holder["seed"]): f"{holder['machine']}, process {holder['pid']}"
            for holder in read_holders(ledger, part)
            if holder["spec"] is not None
        }
        specs = {record["hash"]: record["spec"] for record in self.records}  # seeds share a spec
        keys = {hash_: settings_key(spec) for hash_, spec in specs.items()}
        self._records: dict[str, list[Record]] = defaultdict(list)
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in self.records:
            spec, key = record["spec"], keys[record["hash"]]
            self._records[key].append(record)
            for group in _groups(key, spec["suite"], spec["task"], spec["encoder"], spec["settings"]):
                self._seconds[group].append(60 * minutes_of(record))

    def states(self, runs: Sequence[PlannedRun]) -> list[RunState]:
        """The state of each run. Two encoders of one name have equal specs, and records that say where they are."""
        sources: dict[str, set[str]] = defaultdict(set)
        for run in runs:
            sources[run.spec.key].add(run.sources["source"])
        return [self._state(run, sources[run.spec.key] - {run.sources["source"]}) for run in runs]

    def _state(self, run: PlannedRun, others: set[str]) -> RunState:
        """others: the sources of other encoders of its name."""
        if holder := self.holders.get((run.spec.key, run.seed)):
            return RunState(run, "running", note=holder)
        records = [each for each in self._records.get(run.spec.key, ()) if _source(each) not in others]
        own = [record for record in records if record["seed"] == run.seed]
        if own and own[-1]["spec"]["contents"] == records[-1]["spec"]["contents"]:
            return RunState(run, "done", own[-1])
        return RunState(run, "missing")

    def seconds_left(self, runs: Iterable[RunState], published: Mapping[Any, float]) -> tuple[float, int]:
        """(what the runs that are not done will take one after the other; how many of them have no estimate).

        An estimate is the mean over other seeds of the run, else over runs of its task and encoder on as much of the
        training data, else on any amount, else over runs of its task, else what the published run took, if there is one
        (`published`: seconds by suite, task and encoder).
        """
        total, unknown = 0.0, 0
        for spec in (each.run.spec for each in runs if each.state != "done"):
            groups = _groups(spec.key, spec.suite, spec.task, spec.encoder, spec.settings)
            known = next((self._seconds[group] for group in groups if group in self._seconds), None)
            seconds = fmean(known) if known else published.get((spec.suite, spec.task, spec.encoder))
            total += seconds or 0.0
            unknown += seconds is None
        return total, unknown


def _source(record: Record) -> str:
    return record["environment"].get("source", "")


def _groups(key: str, suite: str, task: str, encoder: str, settings: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """What a run may be compared with, best first."""
    amount = [str(settings.get(option)) for option in ("data.train_fraction", "data.max_train")]
    return (key,), (suite, task, encoder, *amount), (suite, task, encoder), (suite, task)


def run_sweep(plan: Plan, meter: Meter | None = None) -> Iterator[RunState]:
    """Carry out the runs; yields the result of each as it ends, finished ones first. They start no process.

    The meter shows what the others say meanwhile. Raises UserError for a launcher that cannot start.
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
    for ended in launch(jobs, options | {"jobs": plan.workers}):
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
        own.sort(key=lambda record: _source(record) == run.sources["source"])  # one path may be spelt in two ways
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
