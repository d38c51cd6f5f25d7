"""`elmo-bench sweep encoder=none,glove,elmo seed=0,1,2`.

It makes every combination of the options' values.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from elmo_bench.base.errors import plain
from elmo_bench.base.progress import progress
from elmo_bench.cli import parser, row
from elmo_bench.cli.entry import entry
from elmo_bench.cli.report import write_page
from elmo_bench.cli.status import time_left
from elmo_bench.ledger import Record
from elmo_bench.reporting.after_sweep import after_sweep
from elmo_bench.reporting.console import overviews
from elmo_bench.reporting.endings import already, next_lines, outcome
from elmo_bench.reporting.names import counted
from elmo_bench.runner.estimate import Amounts
from elmo_bench.runner.first_look import read_own_data
from elmo_bench.runner.named_parts import flags_to_give
from elmo_bench.runner.plan import Plan, PlannedRun, plan
from elmo_bench.runner.states import (
    LedgerState,
    RunState,
    ledger_of,
    not_done,
    states_of,
)
from elmo_bench.runner.sweep import run_sweep
from elmo_bench.spec.options import check_once
from elmo_bench.spec.task_files import FLOOR, reads_own_data

EPILOG = """Finished runs are skipped, and an interrupted sweep goes on when it is
started again. On data of your own: sweep task=classification data.file=reviews.csv
encoder=glove,elmo seed=0,1,2. `elmo-bench run --help` lists all options."""


def main(arguments: list[str]) -> int:
    """Make the runs that the ledger does not have, then print tables of all of them.

    Every option is checked before the first run starts. The exit code is 2 if a run
    failed because of bad input, 1 if one failed for another reason, 130 after an
    interrupt, and else 0: a run that is left to another process is not a failure.
    Raises UserError for bad options.
    """
    options = _options(arguments)
    check_once(options)
    as_row = row.is_row(options)
    if as_row:
        row.check(options)
    planned = plan(options)
    results: list[RunState] = []
    interrupted = False
    try:
        _run(planned, results, as_row=as_row)
    except KeyboardInterrupt:
        interrupted = True
    records = _records(results, planned)
    for table in overviews(records, planned.ledger):
        print(f"\n{table}")
    if records and not interrupted:
        commands = after_sweep(records, planned.ledger, flags_to_give)
        print("\n" + "\n".join(next_lines(commands)))
    for suite in _own_suites(records):
        print(f"\nthe page, to open in a browser: {write_page(planned.ledger, suite)}")
    missing = len(planned.runs) - len(results)
    return _report(results, missing=missing, interrupted=interrupted)


def _records(results: Sequence[RunState], planned: Plan) -> list[Record]:
    """The records of these runs, in the order of the plan: runs end in any order."""
    by_options = {result.run.options: result.record for result in results}
    records = [by_options.get(run.options) for run in planned.runs]
    return [record for record in records if record is not None]


def _own_suites(records: Sequence[Record]) -> list[str]:
    """The data sets of the user's own, in order."""
    suites: dict[str, None] = {}
    for record in records:
        if reads_own_data(record.spec.task):
            suites[record.spec.suite] = None
    return list(suites)


def _options(arguments: list[str]) -> list[str]:
    command = parser("sweep", EPILOG)
    command.add_argument(
        "options",
        nargs="+",
        metavar="key=value,value",
        help="options of run, with one value or several",
    )
    options: list[str] = command.parse_args(arguments).options
    return options


def _run(planned: Plan, results: list[RunState], *, as_row: bool) -> None:
    """Carry out the runs; print a line for each that ends, and add it to `results`.

    as_row: after each task, also print where its encoders are among published ones.
    """
    ledger = ledger_of(planned)
    states = states_of(planned, ledger)
    # A mistake in the user's data is one message now, and not one for each run.
    sizes = read_own_data(not_done(states))
    print(_start(planned, ledger, states, sizes), flush=True)
    with progress("sweep", len(planned.runs)) as meter:
        for result in run_sweep(planned, entry, meter):
            results.append(result)
            print(f"{result.run.title}: {_outcome(result, planned.ledger)}", flush=True)
            if result.state == "skipped":
                meter.skip()
            else:
                meter.advance()
            if as_row:
                _print_standing(result.run.spec.task, planned, results)


def _print_standing(task: str, planned: Plan, results: list[RunState]) -> None:
    """Print where the encoders are on a task, once all of its runs have ended."""
    wanted = sum(run.spec.task == task for run in planned.runs)
    ended = [result for result in results if result.run.spec.task == task]
    if len(ended) == wanted:
        for paragraph in row.standing(ended, planned.ledger):
            print(f"\n{paragraph}", end="", flush=True)


def _start(
    planned: Plan,
    ledger: LedgerState,
    states: Sequence[RunState],
    sizes: Mapping[PlannedRun, Amounts],
) -> str:
    """How many runs there are, how many are done, and how long the others take."""
    todo = sum(state.state != "done" for state in states)
    line = f"{counted(len(states))}, {len(states) - todo} of them done"
    floors = {run.spec.encoder for run in planned.runs if run.spec.head == FLOOR}
    if floors:
        line = f"{line} (with the floor {' and '.join(sorted(floors))}: seconds)"
    if not todo:
        return line
    workers = min(todo, planned.workers or 1)
    return f"{line}; {time_left(states, ledger, workers, sizes)}"


def _outcome(result: RunState, ledger: Path) -> str:
    if result.record is not None:
        is_new = result.state == "done"
        state = "done" if is_new else already(result.record)
        return outcome(ledger, result.record, state)
    if result.state == "held":
        return f"left to another process ({result.note})"
    return f"failed: {result.note}"


def _report(results: Sequence[RunState], *, missing: int, interrupted: bool) -> int:
    """Print what is not done; the exit code."""
    held = sum(result.state == "held" for result in results)
    if held:
        _complain(
            f"\n{held} of {len(results)} runs left to other processes. "
            "`status` with the same options shows their state; "
            "start the same sweep again to make what they leave."
        )
    failed = [result for result in results if result.state == "failed"]
    if len(failed) > 1:
        _complain(f"\n{len(failed)} runs failed:")
    for result in failed:
        _complain(f"elmo-bench sweep: {result.run.title}: {plain(result.note)}")
    if interrupted:
        _complain(
            f"\ninterrupted: {counted(missing)} left, or fewer. "
            "Start the same sweep again to make them."
        )
        return 130
    return max((result.code for result in failed), default=0)


def _complain(line: str) -> None:
    print(line, file=sys.stderr)
