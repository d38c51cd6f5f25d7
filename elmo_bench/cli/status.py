"""`elmo-bench status --experiment table1`: which runs of a sweep are done, and which are not."""

from collections import Counter, defaultdict

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.reporting.console import LEDGER, fitted
from elmo_bench.reporting.names import distinct_name
from elmo_bench.reporting.published import published
from elmo_bench.runner.plan import plan
from elmo_bench.runner.states import STATES, LedgerState, RunState
from elmo_bench.spec.options import spelled


def main(arguments: list[str]) -> int:
    """Print the counts and the runs that a process works on; with --missing, only the runs that are missing.

    The exit code is 2 if a file of the ledger had to be skipped. Raises UserError for options that a run refuses.
    """
    add = (command := parser("status", ledger=True)).add_argument
    add("--experiment", metavar="NAME", help="one of conf/experiment/*.yaml")
    add("--missing", action="store_true", help="only list the runs that a sweep would make")
    add("options", nargs="*", metavar="key=value", help="as for a sweep: suite=open seed=0,1")
    given = command.parse_intermixed_args(arguments)  # options may also follow a flag
    options = [*([f"experiment={given.experiment}"] if given.experiment else []), *given.options]
    options += [f"ledger={spelled(str(given.ledger))}"] * bool(options and given.ledger != LEDGER)
    if not options:
        raise UserError("give --experiment NAME, or the options of a sweep (encoder=none,glove,elmo seed=0,1)")
    planned = plan(options)
    ledger = LedgerState(planned.ledger)
    states = ledger.states(planned.runs)
    print_problems("status", ledger.problems)
    if given.missing:
        print(*(f"{each.run.title}\n" for each in states if each.state == "missing"), sep="", end="")
    else:
        print(f"{given.experiment or ' '.join(options)}: {_summary(states, ledger)}\n")
        print(_table(states))
        for each in states:
            if each.state == "running":
                print(f"\nrunning: {each.run.title}\n  {each.note}")
    return 2 if ledger.problems else 0


def _summary(states: list[RunState], ledger: LedgerState) -> str:
    counts = Counter(each.state for each in states)
    shown = {state: f"{counts[state]} {state}" for state in STATES if counts[state]}
    if "done" in shown:
        shown["done"] += f" ({sum(each.converged for each in states)} converged)"
    parts = ", ".join(shown.values())
    runs = f"{len(states)} run{'s' if len(states) != 1 else ''}: {parts}"
    return runs if counts["done"] == len(states) else f"{runs}; {time_left(states, ledger)}"


def time_left(runs: list[RunState], ledger: LedgerState, workers: int = 1) -> str:
    """What the runs that are not done take: on one core, and with several workers; from the ledger, else published."""
    usual = {(row.suite, row.task, row.encoder): 60 * row.minutes for row in published().values() if not row.label}
    seconds, unknown = ledger.seconds_left(runs, usual)
    if not seconds:
        return "no comparable run to estimate the time"
    rest = f" and {unknown} runs without an estimate" if unknown else ""
    at_once = f", {readable(seconds / workers)} with {workers} at once" if workers > 1 else ""
    return f"about {readable(seconds)} left, one after the other{at_once}{rest}"


def _table(states: list[RunState]) -> str:
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    ends: dict[str, set[str]] = defaultdict(set)
    for each in states:
        ends[each.run.spec.encoder].add(each.run.setup.source)
    for each in states:
        spec = each.run.spec
        encoder = distinct_name(spec.encoder, each.run.setup.source, ends[spec.encoder])
        counts[spec.suite, spec.task, encoder].update([each.state, *["converged"] * each.converged])
    columns = [STATES[0], "converged", *STATES[1:]]
    header = ["suite", "task", "encoder", *columns]
    rows = [[*group, *(str(count[column] or "") for column in columns)] for group, count in counts.items()]
    return fitted(header, rows, words=[True] * len(header))


def readable(seconds: float) -> str:
    """Such as `3 h 20 min`, `12 min`, `40 s`."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if seconds >= 60 else f"{round(seconds)} s"
