"""`elmo-bench status --experiment table1`: which runs of a sweep are done."""

import argparse
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from elmo_bench.base.collection import no_collection
from elmo_bench.base.errors import UserError, redacted
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.reporting.console import fitted
from elmo_bench.reporting.names import counted, distinct_name
from elmo_bench.reporting.published import published
from elmo_bench.runner.estimate import Amounts, readable
from elmo_bench.runner.plan import PlannedRun, plan
from elmo_bench.runner.states import (
    STATES,
    Group,
    LedgerState,
    RunState,
    encoder_group,
    ledger_of,
)
from elmo_bench.spec.budget import default_epochs
from elmo_bench.spec.experiments import FRACTION
from elmo_bench.spec.options import check_once, spelled
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.sweeps import LEDGER


def main(arguments: list[str]) -> int:
    """Print the counts and the runs that a process works on.

    With --missing, only the runs that are missing. The exit code is 2 if a file of the
    sweep's tasks had to be skipped. Raises UserError for options that a run refuses.
    """
    arguments_given = _parse(arguments)
    options = _options(arguments_given)
    check_once(options)
    with no_collection():
        return _status(arguments_given, options)


def _status(arguments_given: argparse.Namespace, options: Sequence[str]) -> int:
    planned = plan(options)
    ledger = ledger_of(planned)
    states = ledger.states(planned.runs)
    if planned.ledger != LEDGER:
        _warn_of_empty(planned.ledger, ledger)
    print_problems("status", ledger.problems)
    if arguments_given.missing:
        _print_missing(states)
    else:
        title = arguments_given.experiment or redacted(shlex.join(options))
        print(f"{title}: {_summary(states, ledger)}\n")
        print(_table(states))
        _print_running(states)
    return 2 if ledger.problems else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("status", ledger=True)
    add = command.add_argument
    add("--experiment", metavar="NAME", help="one of conf/experiment/*.yaml")
    add(
        "--missing",
        action="store_true",
        help="only list the runs that a sweep would make",
    )
    add(
        "options",
        nargs="*",
        metavar="key=value",
        help="as for a sweep: suite=open seed=0,1",
    )
    return command.parse_intermixed_args(arguments)  # options may also follow a flag


def _options(arguments: argparse.Namespace) -> list[str]:
    """The options of the sweep. Raises UserError if there are none."""
    options = list(arguments.options)
    if arguments.experiment:
        options.insert(0, f"experiment={arguments.experiment}")
    if not options:
        raise UserError(
            "give --experiment NAME, or the options of a sweep "
            "(encoder=none,glove,elmo seed=0,1)"
        )
    if arguments.ledger != LEDGER:
        options.append(f"ledger={spelled(str(arguments.ledger))}")
    return options


def _warn_of_empty(folder: Path, ledger: LedgerState) -> None:
    """Print on stderr that a ledger is missing, or has no run."""
    if not folder.is_dir():
        print(f"elmo-bench status: {folder}: no such folder", file=sys.stderr)
    elif not (ledger.records or ledger.holders or ledger.problems or ledger.has_others):
        print(f"elmo-bench status: {folder}: no run in it", file=sys.stderr)


def _print_missing(states: Sequence[RunState]) -> None:
    for state in states:
        if state.state == "missing":
            print(state.run.title)


def _print_running(states: Sequence[RunState]) -> None:
    for state in states:
        if state.state == "running":
            print(f"\nrunning: {state.run.title}\n  {state.note}")


def _summary(states: Sequence[RunState], ledger: LedgerState) -> str:
    counts = Counter(state.state for state in states)
    parts = [f"{counts[name]} {name}" for name in STATES if counts[name]]
    done = counts["done"]
    if done:
        converged = sum(state.converged for state in states)
        parts[0] = f"{done} done ({converged} converged)"  # the first of STATES
    summary = f"{counted(len(states))}: {', '.join(parts)}"
    if done == len(states):
        return summary
    return f"{summary}; {time_left(states, ledger)}"


def time_left(
    runs: Sequence[RunState],
    ledger: LedgerState,
    workers: int = 1,
    sizes: Mapping[PlannedRun, Amounts] | None = None,
) -> str:
    """How long the runs that are not done take, on one core and with several workers.

    Estimated from the ledger, else from the sizes of the data, else from the published
    runs.
    """
    seconds, unknown = ledger.seconds_left(runs, _published_seconds(runs), sizes)
    if not seconds:  # a floor's time is not estimated
        return "no comparable run to estimate the time" if unknown else "seconds left"
    about = "at most about" if _is_bound(runs, ledger) else "about"
    text = f"{about} {readable(seconds)} left, one after the other"
    if workers > 1:
        text += f", {readable(seconds / workers)} with {workers} at once"
    # Steps and tokens were measured on a CPU.
    if any(run.setup.device == "cpu" for run in sizes or ()):
        text += " (by steps and tokens, or by runs that are done; on an idle machine)"
    if unknown:
        text += f" and {counted(unknown)} without an estimate"
    return text


def _published_seconds(runs: Sequence[RunState]) -> dict[Group, float]:
    """Of an epoch of the published default runs, by `encoder_group`. They were made on
    a CPU, and none is tuned.

    An encoder of these runs that is not published has those of ELMo.
    """
    seconds: dict[Group, float] = {}
    for row in published().values():
        if not row.label:
            epochs = default_epochs(row.task, row.size)
            group = encoder_group(row, "cpu", row.encoder)
            seconds[group] = 60 * row.minutes / epochs
    for state in runs:
        spec = state.run.spec
        of_elmo = seconds.get(encoder_group(spec, "cpu", "elmo"))
        if of_elmo is not None:
            group = encoder_group(spec, "cpu", spec.encoder)
            seconds.setdefault(group, of_elmo)
    return seconds


def _is_bound(runs: Sequence[RunState], ledger: LedgerState) -> bool:
    """Whether a run that is not done may have the time of a run on more data as its
    estimate, and no run of the ledger is on a part of its data."""
    to_do = [run.run.spec.changes for run in runs if run.state != "done"]
    done = [RunSpec.of_record(record).changes for record in ledger.records]
    return any(map(_is_shortened, to_do)) and not any(map(_is_shortened, done))


def _is_shortened(changes: Mapping[str, str]) -> bool:
    """Whether a run with these changes trains on a part of its data."""
    return not changes.keys().isdisjoint(FRACTION)


def _table(states: Sequence[RunState]) -> str:
    """Runs in each state, by suite, task and encoder."""
    sources: dict[str, set[str]] = defaultdict(set)
    for state in states:
        sources[state.run.spec.encoder].add(state.run.setup.source)
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for state in states:
        spec = state.run.spec
        source = state.run.setup.source
        encoder = distinct_name(spec.encoder, source, sources[spec.encoder])
        count = counts[spec.suite, spec.task, encoder]
        count[state.state] += 1
        if state.converged:
            count["converged"] += 1
    columns = [STATES[0], "converged", *STATES[1:]]
    header = ["suite", "task", "encoder", *columns]
    rows = []
    for group, count in counts.items():
        cells = [str(count[column] or "") for column in columns]
        rows.append([*group, *cells])
    return fitted(header, rows, words=[True] * len(header))
