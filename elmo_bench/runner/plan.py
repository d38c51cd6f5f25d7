"""The runs of a sweep, known from its options alone, and their states: reads no data and no weights, imports no torch."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from omegaconf import DictConfig

from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.json import canonical
from elmo_bench.ledger import Spec, Summary, read_progress, settings_key
from elmo_bench.runner.finished import Sources, sources_of
from elmo_bench.spec.config import compose, sweep
from elmo_bench.spec.run_spec import RunSpec, Setup, converged
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


STATES = ("done", "running", "failed", "stale", "missing")


@dataclass(frozen=True)
class RunState:
    """A planned run and its state.

    stale: its record is of an older version of the task, encoder or protocol, or another seed has since been run on
    other data or weights.
    """

    run: PlannedRun
    state: str
    note: str = ""  # of a failed run the error, of a running one where it runs
    converged: bool = False  # of a run that is done


@dataclass
class LedgerState:
    """What a ledger knows of runs, found by the key of their settings and by seed. Each file is read once."""

    problems: list[str]
    _records: dict[str, dict[int, Summary]] = field(default_factory=lambda: defaultdict(dict))
    _specs: dict[str, tuple[Spec, set[int]]] = field(default_factory=dict)  # with the seeds, by hash
    _failed: dict[tuple[str, int], str] = field(default_factory=dict)
    _running: dict[tuple[str, int], str] = field(default_factory=dict)
    _seconds: dict[tuple[str, ...], list[float]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, ledger: Path) -> "LedgerState":
        found = read_progress(ledger)
        state = cls(found.problems)
        keys: dict[str, str] = {}  # by hash: seeds share a spec
        for record in sorted(found.summaries, key=lambda record: record["created"]):  # the newest stays
            spec, seed = record["spec"], record["seed"]
            if record["hash"] not in keys:
                keys[record["hash"]] = settings_key(spec)
                state._specs[record["hash"]] = spec, set()
            key = keys[record["hash"]]
            state._records[key][seed] = record
            state._specs[record["hash"]][1].add(seed)
            for group in _groups(key, spec["suite"], spec["task"], spec["encoder"], spec["settings"]):
                state._seconds[group].append(record["seconds"])
        for _, failure in found.failures:
            state._failed[settings_key(failure["spec"]), failure["seed"]] = failure["error"]
        for holder in found.holders:
            if holder["spec"] is not None:
                where = f"{holder['machine']}, process {holder['pid']}"
                state._running[settings_key(holder["spec"]), holder["seed"]] = where
        return state

    @cached_property
    def _outdated(self) -> set[tuple[str, int]]:
        """The runs that have a record of any version; takes a while, and is needed only if a run is not done."""
        return {
            (key, seed) for spec, seeds in self._specs.values() for key in [RunSpec(**spec).identity] for seed in seeds
        }

    def of_runs(self, runs: Sequence[PlannedRun]) -> list[RunState]:
        """The state of every run, in order."""
        return [self._of_run(run) for run in runs]

    def seconds_left(self, found: Iterable[RunState]) -> tuple[float, int]:
        """(what the runs that are not done will take one after the other; how many of them have no estimate).

        An estimate is the mean over other seeds of the run, else over runs of its task and encoder on as much of the
        training data, else on any amount, else over runs of its task.
        """
        total, unknown = 0.0, 0
        for each in found:
            if each.state != "done":
                spec = each.run.spec
                groups = _groups(spec.key, spec.suite, spec.task, spec.encoder, spec.settings)
                known = next((self._seconds[group] for group in groups if group in self._seconds), None)
                total += fmean(known) if known else 0.0
                unknown += known is None
        return total, unknown

    def _of_run(self, run: PlannedRun) -> RunState:
        place = (run.spec.key, run.seed)
        if where := self._running.get(place):
            return RunState(run, "running", where)
        seeds = self._records.get(run.spec.key, {})
        record = seeds.get(run.seed)
        if record is not None:
            newest = max(seeds.values(), key=lambda record: record["created"])
            if record["spec"]["contents"] == newest["spec"]["contents"]:
                return RunState(run, "done", converged=converged(record))
        if error := self._failed.get(place):
            return RunState(run, "failed", error)
        outdated = record is not None or (run.spec.identity, run.seed) in self._outdated
        return RunState(run, "stale" if outdated else "missing")


def _groups(key: str, suite: str, task: str, encoder: str, settings: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """What a run may be compared with, best first."""
    amount = [str(settings.get(option)) for option in ("data.train_fraction", "data.max_train")]
    return (key,), (suite, task, encoder, *amount), (suite, task, encoder), (suite, task)
