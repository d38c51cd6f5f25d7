"""What a ledger knows of planned runs: which are done, which are running, and how long the others will take."""

import gc
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from elmo_bench.ledger import Record, minutes_of, read_all, read_holders, settings_key
from elmo_bench.runner.plan import PlannedRun
from elmo_bench.spec.run_spec import converged
from elmo_bench.spec.task_files import FLOOR

STATES = ("done", "running", "missing")


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
        records = [each for each in self._records.get(run.spec.key, ()) if source_of(each) not in others]
        own = [record for record in records if record["seed"] == run.seed]
        if own and own[-1]["spec"]["contents"] == records[-1]["spec"]["contents"]:
            return RunState(run, "done", own[-1])
        return RunState(run, "missing")

    def seconds_left(self, runs: Iterable[RunState], published: Mapping[Any, float]) -> tuple[float, int]:
        """(what the runs that are not done will take one after the other; how many of them have no estimate).

        An estimate is the mean over other seeds of the run, else over runs of its task and encoder on as much of the
        training data, else on any amount, else over runs of its task, else what the published run took, if there is one
        (`published`: seconds by suite, task and encoder). Floors take seconds, which are not counted.
        """
        total, unknown = 0.0, 0
        for spec in (each.run.spec for each in runs if each.state != "done"):
            if spec.head == FLOOR:
                continue
            groups = _groups(spec.key, spec.suite, spec.task, spec.encoder, spec.settings)
            known = next((self._seconds[group] for group in groups if group in self._seconds), None)
            seconds = fmean(known) if known else published.get((spec.suite, spec.task, spec.encoder))
            total += seconds or 0.0
            unknown += seconds is None
        return total, unknown


def source_of(record: Record) -> str:
    return record["environment"].get("source", "")


def _groups(key: str, suite: str, task: str, encoder: str, settings: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """What a run may be compared with, best first."""
    amount = [str(settings.get(option)) for option in ("data.train_fraction", "data.max_train")]
    return (key,), (suite, task, encoder, *amount), (suite, task, encoder), (suite, task)
