"""`run` and `sweep` from Python, with the options of the command line."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.base.errors import UserError, plain
from elmo_bench.base.include import include_given
from elmo_bench.base.machine import wait_asleep
from elmo_bench.base.progress import console, progress
from elmo_bench.cli.entry import entry
from elmo_bench.ledger import Record, RunPaths
from elmo_bench.reporting.endings import gain_over_floor, outcome
from elmo_bench.reporting.results import results
from elmo_bench.runner.first_look import read_own_data, ready
from elmo_bench.runner.plan import Plan, plan
from elmo_bench.runner.run import run as run_one
from elmo_bench.runner.run import run_floor
from elmo_bench.runner.states import RunState, ledger_of, not_done, states_of
from elmo_bench.runner.sweep import run_sweep
from elmo_bench.spec.options import check_once

if TYPE_CHECKING:
    import pandas as pd

HELD = (
    "{} of {} runs left to other processes. "
    "Call the same sweep again to make what they leave."
)


def run(*options: str) -> Record:
    """Make one run and return its record; a finished run is read from the ledger.

    On data of your own its floor is made too, as the command does, and a line says
    what the run gains over it.

    options: as of `elmo-bench run`, a text each: `run("task=ner", "encoder=elmo")`.

    The record is a pydantic model: `record.scores.test.overall["f1"]`. An interrupted
    run resumes when it is called again.

    Raises UserError for bad input, with the sentence that the command prints, and if
    another process works on the run. The folders of `$ELMO_BENCH_INCLUDE` are included.
    """
    _begin("run", options)
    check_once(options, single=True)
    config = ready(options)
    record, _ = run_one(config)
    floor = run_floor(config, options)
    if floor is not None:
        console.print(gain_over_floor(record, floor), highlight=False)
    return record


def sweep(*options: str) -> "pd.DataFrame":
    """Make every combination of the options' values; a row for each run.

    options: as of `elmo-bench sweep`, a text each:
    `sweep("task=ner", "encoder=glove,elmo", "seed=0,1,2")`.

    The columns are the same as in `results`. Every option is checked before the first
    run starts. Runs are processes of their own, and finished ones are skipped: after an
    interrupt the same call makes the runs that are missing.

    Raises UserError for bad options; and if runs failed, after all others have ended.
    Warns of runs that are left to other processes.
    """
    _begin("sweep", options)
    check_once(options)
    planned = plan(options)
    read_own_data(not_done(states_of(planned, ledger_of(planned))))
    ended = _carry_out(planned)
    _check(ended)
    return _rows(planned, ended)


def _begin(name: str, options: Sequence[str]) -> None:
    """Include folders, before anything imports torch.

    Raises UserError for an option that is not a text, and for --include.
    """
    wait_asleep()
    include_given([])
    for option in options:
        if not isinstance(option, str):
            raise UserError(
                f"{name}({option!r:.60}): an option is a text, "
                f'such as {name}("task=ner", "encoder=elmo").'
            )
        if option.startswith("--"):
            raise UserError(
                f"{name}({option!r:.60}): an option is key=value. Folders of yours are "
                "named in os.environ['ELMO_BENCH_INCLUDE']."
            )


def _carry_out(planned: Plan) -> list[RunState]:
    """Make the runs; a line for each that ends."""
    ended = []
    with progress("sweep", len(planned.runs)) as meter:
        for state in run_sweep(planned, entry, meter):
            ended.append(state)
            meter.say(f"{state.run.title}: {_outcome(state, planned.ledger)}")
            if state.state == "skipped":
                meter.skip()
            else:
                meter.advance()
    return ended


def _outcome(state: RunState, ledger: Path) -> str:
    """The text of a finished run's line: its scores, or why there are none."""
    if state.record is not None:
        return outcome(ledger, state.record, state.state)
    return f"{state.state} ({plain(state.note)})" if state.note else state.state


def _check(ended: Sequence[RunState]) -> None:
    """Raise UserError if runs failed; warn of runs that other processes make."""
    failed = [state for state in ended if state.state == "failed"]
    if failed:
        reasons = [f"{state.run.title}: {plain(state.note)}" for state in failed]
        count = f"{len(failed)} of {len(ended)} runs failed"
        raise UserError(f"{count}: {'; '.join(reasons)}")
    held = sum(state.state == "held" for state in ended)
    if held:
        warnings.warn(HELD.format(held, len(ended)), stacklevel=3)


def _rows(planned: Plan, ended: Sequence[RunState]) -> "pd.DataFrame":
    """The rows of the runs that have a record."""
    suites = {run.spec.suite for run in planned.runs}
    suite = suites.pop() if len(suites) == 1 else None
    frame = results(planned.ledger, suite=suite)
    records = []
    for state in ended:
        if state.record is not None:
            records.append(str(RunPaths.of(planned.ledger, state.record).record))
    return frame[frame.record.isin(records)].reset_index(drop=True)
