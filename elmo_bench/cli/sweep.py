"""`elmo-bench sweep encoder=none,glove,elmo seed=0,1,2`: every combination of the options' values."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from elmo_bench.base.errors import UserError, plain
from elmo_bench.base.progress import progress
from elmo_bench.cli import parser
from elmo_bench.cli.entry import entry
from elmo_bench.cli.status import time_left
from elmo_bench.ledger import RunPaths, read_record_at
from elmo_bench.reporting.console import already, outcome, overviews
from elmo_bench.runner.plan import Plan, plan
from elmo_bench.runner.states import LedgerState, RunState
from elmo_bench.runner.sweep import run_sweep
from elmo_bench.spec.config import FLOOR
from elmo_bench.spec.names import metric_of


def main(arguments: list[str]) -> int:
    """Make the runs that the ledger does not have, then print tables of all of them.

    Every option is checked before the first run starts. The exit code is 2 if a run failed because of bad input, 1 if
    one failed for another reason, 130 after an interrupt, and else 0: a run that is left to another process is no
    failure. Raises UserError for bad options.
    """
    command = parser("sweep", "Finished runs are skipped.")
    about = "options of run, with one value or several"
    command.add_argument("options", nargs="+", metavar="key=value,value", help=about)
    planned = plan(command.parse_args(arguments).options)
    results: list[RunState] = []
    interrupted = False
    try:
        print(_start(planned), flush=True)
        with progress("sweep", len(planned.runs)) as meter:
            for ended in run_sweep(planned, entry, meter):
                result = _checked(ended, planned.ledger)
                results.append(result)
                print(f"{result.run.title}: {_outcome(result, planned.ledger)}", flush=True)
                meter.skip() if result.state == "skipped" else meter.advance()
    except KeyboardInterrupt:
        interrupted = True
    for table in overviews([result.record for result in results if result.record is not None]):
        print(f"\n{table}")
    return _report(results, missing=len(planned.runs) - len(results), interrupted=interrupted)


def _start(planned: Plan) -> str:
    """How many runs there are, how many of them are done, and how long the others take."""
    ledger = LedgerState(planned.ledger)
    states = ledger.states(planned.runs)
    if planned.overwrite:
        states = [replace(each, state="missing") for each in states]
    todo = sum(each.state != "done" for each in states)
    left = f"; {time_left(states, ledger, min(todo, planned.workers or 1))}" if todo else ""
    floors = {run.spec.encoder for run in planned.runs if run.spec.head == FLOOR}
    floor = f"; the floor is {' and '.join(sorted(floors))}, which takes seconds" if floors else ""
    return f"{len(states)} runs, {len(states) - todo} of them done{left}{floor}"


def _checked(result: RunState, ledger: Path) -> RunState:
    """The result, whose scores are about to be shown: failed if its record does not pass the check."""
    if result.record is not None:
        try:
            read_record_at(RunPaths.of(ledger, result.record), metrics=metric_of)
        except UserError as error:
            return RunState(result.run, "failed", note=str(error), code=2)
    return result


def _outcome(result: RunState, ledger: Path) -> str:
    if result.record is None:
        return f"left to another process ({result.note})" if result.state == "held" else f"failed: {result.note}"
    state = "done" if result.state == "done" else already(result.record)
    return outcome(ledger, result.record, state)


def _report(results: Sequence[RunState], *, missing: int, interrupted: bool) -> int:
    """Print what is not done; the exit code."""
    failed = [result for result in results if result.state == "failed"]
    if held := sum(result.state == "held" for result in results):
        advice = "`status` with the same options shows their state; start the same sweep again to make what they leave."
        print(f"\n{held} of {len(results)} runs left to other processes. {advice}", file=sys.stderr)
    if len(failed) > 1:
        print(f"\n{len(failed)} runs failed:", file=sys.stderr)
    for result in failed:
        print(f"elmo-bench sweep: {result.run.title}: {plain(result.note)}", file=sys.stderr)
    if interrupted:
        print(f"\ninterrupted: {missing} runs are not done. Start the same sweep again to make them.", file=sys.stderr)
        return 130
    return max((result.code for result in failed), default=0)
