"""The state of every run of a plan: done, running, failed, stale or missing. Reads the ledger; imports no torch."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from elmo_bench.ledger import Brief, Spec, is_held, read_all, settings_key
from elmo_bench.runner.plan import PlannedRun
from elmo_bench.spec.run_spec import RunSpec, converged

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
    _records: dict[str, dict[int, Brief]] = field(default_factory=lambda: defaultdict(dict))
    _specs: dict[str, tuple[Spec, set[int]]] = field(default_factory=dict)  # with the seeds, by hash
    _failed: dict[tuple[str, int], str] = field(default_factory=dict)
    _running: dict[tuple[str, int], str] = field(default_factory=dict)
    _seconds: dict[tuple[str, ...], list[float]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, ledger: Path) -> "LedgerState":
        found = read_all(ledger)
        state = cls(found.problems)
        keys: dict[str, str] = {}  # by hash: seeds share a spec
        for record in sorted(found.records, key=lambda record: record["created"]):  # the newest stays
            spec, seed = record["spec"], record["seed"]
            if record["hash"] not in keys:
                keys[record["hash"]] = settings_key(spec)
                state._specs[record["hash"]] = spec, set()
            key = keys[record["hash"]]
            state._records[key][seed] = record
            state._specs[record["hash"]][1].add(seed)
            for group in _groups(key, spec["suite"], spec["task"], spec["encoder"], spec["settings"]):
                state._seconds[group].append(record["cost"]["seconds"])
        for _, failure in found.failures:
            state._failed[settings_key(failure["spec"]), failure["seed"]] = failure["error"]
        for run, lease in found.leases:
            if lease["spec"] is not None and is_held(run):
                where = f"{lease['machine'].split()[0]}, process {lease['pid']}"
                state._running[settings_key(lease["spec"]), lease["seed"]] = where
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
