"""`elmo-bench merge LEDGER`: add the runs of a ledger that was made elsewhere."""

from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger.merge import merge
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import changes_of

EPILOG = """Its outcomes and heads are added too. A ledger that is merged into itself gets what records of older
versions lack: the options that a run changed."""


def main(arguments: list[str]) -> int:
    """Merge and print what was done. The exit code is 1 if a file was skipped, or if scores are in conflict.

    Raises UserError if the ledger does not exist.
    """
    add = (command := parser("merge", EPILOG)).add_argument
    add("source", type=Path, metavar="LEDGER", help="the ledger to read; it is not changed")
    into = Path("results/runs")
    add("--into", type=Path, default=into, metavar="LEDGER", help="ledger to add to (default: %(default)s)")
    options = command.parse_args(arguments)
    if not options.source.is_dir():
        raise UserError(f"{options.source}: no such folder. Give the folder of a ledger.")
    merged = merge(options.source, options.into, metric_of, changes_of)
    if not any(vars(merged).values()):
        raise UserError(f"{options.source}: no run in it. Give the folder of a ledger, such as results/runs.")
    print_problems("merge", [*merged.conflicts, *merged.problems])
    said = f"{len(merged.added)} records added, {len(merged.present)} were present"
    if merged.completed:
        said += f"; what they change was added to {len(merged.completed)}"
    print(f"{options.into}: {said}; {len(merged.conflicts)} conflicts, {len(merged.problems)} skipped")
    return int(bool(merged.problems or merged.conflicts))
