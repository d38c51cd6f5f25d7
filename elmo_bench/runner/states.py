"""What a ledger knows of planned runs: which are done, which are running, and how long
the others will take."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from elmo_bench.base.collection import no_collection
from elmo_bench.ledger import (
    Copies,
    Holder,
    Record,
    holders_of,
    learned,
    list_runs,
    read_listed,
    settings_key,
    work_minutes_of,
)
from elmo_bench.runner.estimate import Amounts, seconds_of
from elmo_bench.runner.plan import Plan, PlannedRun
from elmo_bench.spec.budget import EPOCHS, LEAST, converged, epochs_of
from elmo_bench.spec.run_spec import is_drawn
from elmo_bench.spec.settings import QUICK
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.spec.tuning import TUNE

STATES = ("done", "running", "missing")
Task = tuple[str, str]  # suite and task
Group = tuple[str, ...]  # of runs that may be compared
_ALIKE = 1  # the last of `_groups` that is a better estimate than sizes are
_OF_ENCODER = 2  # the one of `_groups` that `encoder_group` gives


@dataclass(frozen=True)
class RunState:
    """A planned run and its state in the ledger.

    One of STATES, or after a sweep: done, skipped, held or failed.

    done: also if another seed has a record and nothing is drawn. missing: also if
    another seed has since been run on other data or weights. skipped: it was in the
    ledger. held: left to another process.
    """

    run: PlannedRun
    state: str
    record: Record | None = None  # of a run that is done or skipped
    note: str = ""  # why a run failed, or who works on one that is running or held
    # Of a failed run, for the exit code: 2 bad input, 1 any other failure.
    code: int = 0

    @property
    def converged(self) -> bool:
        if self.record is None:
            return False
        return converged(self.record.spec, learned=learned(self.record))


class LedgerState:
    """What a ledger knows of runs, found by the key of their settings.

    Each file is read once.
    """

    def __init__(
        self,
        ledger: Path,
        like: PlannedRun | None = None,
        *,
        tasks: Collection[Task] | None = None,
    ):
        """like: read only the runs of this suite, task and encoder. tasks: read only
        the runs of these; the files of others are not looked at."""
        part = (like.spec.suite, like.spec.task, like.spec.encoder) if like else ()
        with no_collection():
            runs, problems = list_runs(ledger, part)
            self.has_others = False
            if tasks is not None:
                asked = {
                    run: runs[run] for run in runs if (run.suite, run.task) in tasks
                }
                self.has_others = len(asked) < len(runs)
                runs = asked
            copies = Copies(is_drawn)
            records, self.problems = read_listed(runs, problems, copies=copies)
        # The newest last.
        self.records = sorted(records, key=lambda record: record.created)
        # Who works on a run now, by key and seed.
        self.holders: dict[tuple[str, int], str] = {}
        for holder in holders_of(runs):
            if holder.spec is not None:
                run = settings_key(holder.spec), holder.seed
                self.holders[run] = _described(holder)
        self._records: dict[str, list[Record]] = defaultdict(list)
        # Of runs, divided by their `_length`.
        self._seconds: dict[Group, list[float]] = defaultdict(list)
        keys: dict[str, str] = {}  # by hash: seeds share a spec
        for record in self.records:
            spec = record.spec
            key = keys.get(record.hash) or settings_key(spec)
            keys[record.hash] = key
            self._records[key].append(record)
            device = "cpu" if record.environment.device == "cpu" else "cuda"
            seconds = 60 * work_minutes_of(record) / _length(spec)
            for group in _groups(key, spec, device):
                self._seconds[group].append(seconds)

    def states(self, runs: Sequence[PlannedRun]) -> list[RunState]:
        """The state of each run.

        Two encoders of one name have equal specs, and records that say where they are.
        """
        sources: dict[str, set[str]] = defaultdict(set)
        for run in runs:
            sources[run.spec.key].add(run.setup.source)
        states = []
        for run in runs:
            others = sources[run.spec.key] - {run.setup.source}
            states.append(self._state(run, others))
        return states

    def _state(self, run: PlannedRun, others: set[str]) -> RunState:
        """others: the sources of other encoders of its name."""
        holder = self.holders.get((run.spec.key, run.seed))
        if holder:
            return RunState(run, "running", note=holder)
        records = []
        for record in self._records.get(run.spec.key, ()):
            if record.environment.source not in others:
                records.append(record)
        of_seed = [record for record in records if run.is_of(record.seed)]
        if of_seed and of_seed[-1].spec.contents == records[-1].spec.contents:
            return RunState(run, "done", of_seed[-1])
        return RunState(run, "missing")

    def seconds_left(
        self,
        runs: Iterable[RunState],
        published: Mapping[Group, float],
        sizes: Mapping[PlannedRun, Amounts] | None = None,
    ) -> tuple[float, int]:
        """(what the runs that are not done will take one after the other; how many of
        them have no estimate).

        An estimate is the mean over other seeds of the run, else over runs that tune
        the encoder in the same way, or keep it frozen as this one does: of its task
        and encoder on as much of the training data, else by the `sizes` of its data,
        else as before on any amount of data, else over runs of its task on as much of
        the data, else over all runs of its task, else what the published run took, if
        there is one (`published`: seconds of an epoch by `encoder_group`). All of them
        have the run's size and kind of device, have least steps if it has them, and
        are scaled to its epochs if it does not. Floors take seconds, which do not
        count.
        """
        sizes = sizes or {}
        total = 0.0
        unknown = 0
        for state in runs:
            if state.state == "done" or state.run.spec.head == FLOOR:
                continue
            seconds = self._estimate(state.run, published, sizes.get(state.run))
            if seconds is None:
                unknown += 1
            else:
                total += seconds
        return total, unknown

    def _estimate(
        self,
        run: PlannedRun,
        published: Mapping[Group, float],
        amounts: Amounts | None,
    ) -> float | None:
        spec = run.spec
        device = run.setup.device
        if device != "cpu":
            amounts = None  # steps and tokens were measured on a CPU
        groups = _groups(spec.key, spec, device)
        for number, group in enumerate(groups):
            if group in self._seconds:
                return _length(spec) * fmean(self._seconds[group])
            if amounts is not None and number == _ALIKE:
                seconds = seconds_of(spec, amounts.part(spec))
                if seconds is not None:
                    return seconds
        of_epoch = published.get(groups[_OF_ENCODER])
        return None if of_epoch is None else _length(spec) * of_epoch


def ledger_of(plan: Plan) -> LedgerState:
    """What the ledger of a sweep knows of its tasks: states and times depend on no
    others."""
    tasks = {(run.spec.suite, run.spec.task) for run in plan.runs}
    return LedgerState(plan.ledger, tasks=tasks)


def states_of(plan: Plan, ledger: LedgerState) -> list[RunState]:
    """The state of each run of a sweep; missing if it is to be made again."""
    states = ledger.states(plan.runs)
    if plan.overwrite:
        return [replace(state, state="missing") for state in states]
    return states


def not_done(states: Iterable[RunState]) -> list[PlannedRun]:
    """The runs that are missing, or that another process makes."""
    return [state.run for state in states if state.state != "done"]


def _described(holder: Holder) -> str:
    return f"{holder.machine}, process {holder.pid}"


def _length(spec: Any) -> int:
    """What the time of a run grows with: its epochs, or 1 if they share a fixed number
    of steps. spec: a run's, or a record's, which may lack them.
    """
    epochs = spec.settings.get(EPOCHS)
    is_number = isinstance(epochs, int) and epochs > 0
    if not is_number or _has_least_steps(spec):
        return 1
    return epochs_of(spec)


def _has_least_steps(spec: Any) -> bool:
    """Whether the epochs of a run share a number of steps: see `_length`."""
    return spec.settings.get(LEAST) is not None


def _groups(key: str, spec: Any, device: str) -> tuple[Group, ...]:
    """What a run may be compared with, best first.

    spec: a run's or a record's. device: cpu or cuda.
    """
    options = ("data.train_fraction", "data.max_train", QUICK, "task.head.name")
    amount = [str(spec.settings.get(option)) for option in options]
    tuned = spec.settings.get(TUNE)
    length = "steps" if _has_least_steps(spec) else "epochs"
    of_task = (spec.suite, spec.task, spec.size, device, str(tuned), length)
    of_encoder = encoder_group(spec, device, spec.encoder, tuned, length)
    return (
        (key, device),
        (*of_encoder, *amount),
        of_encoder,
        (*of_task, *amount),
        of_task,
    )


def encoder_group(
    run: Any, device: str, encoder: str, tuned: Any = None, length: str = "epochs"
) -> Group:
    """Runs of one encoder on one task, of one size and kind of device.

    run: has the suite, task and size; a spec or a published row. device: cpu or cuda.
    tuned: how the runs tune it, which takes many times as long as to keep it frozen.
    length: what their number of steps depends on, epochs or (least) steps.
    """
    return run.suite, run.task, run.size, device, str(tuned), length, encoder
