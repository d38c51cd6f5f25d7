"""`elmo-bench merge LEDGER …`: add the runs of ledgers that were made elsewhere."""

import argparse
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import Copies
from elmo_bench.ledger.merge import Merged, merge
from elmo_bench.ledger.paths import list_runs
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import changes_of, is_drawn

EPILOG = """Their outcomes and heads are added too. A ledger that is merged into itself
gets what records of older versions lack: the options that a run changed."""


def main(arguments: list[str]) -> int:
    """Merge and print a summary.

    The exit code is 1 if a file was skipped, or if scores are in conflict. Raises
    UserError if a ledger does not exist or has no run, before any is merged.
    """
    options = _parse(arguments)
    for source in options.sources:
        if not source.is_dir():
            raise UserError(f"{source}: no such folder. Give the folder of a ledger.")
        _check_runs(source)
    merged = Merged()
    for source in options.sources:
        copies = Copies(is_drawn)
        of_source = merge(source, options.into, metric_of, changes_of, copies)
        print_problems("merge", [*of_source.conflicts, *of_source.problems])
        for name, entries in vars(of_source).items():
            getattr(merged, name).extend(entries)
    done = f"{len(merged.added)} records added, {len(merged.present)} were present"
    if merged.completed:
        done += f"; what they change was added to {len(merged.completed)}"
    print(
        f"{options.into}: {done}; "
        f"{len(merged.conflicts)} conflicts, {len(merged.problems)} skipped"
    )
    return int(bool(merged.problems or merged.conflicts))


def _check_runs(source: Path) -> None:
    """Raises UserError for a ledger without a record and without a problem."""
    runs, problems = list_runs(source)
    records = [run for run, names in runs.items() if run.record.name in names]
    if not records and not problems:
        raise UserError(
            f"{source}: no run in it. "
            "Give the folder of a ledger, such as results/runs."
        )


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("merge", EPILOG)
    command.add_argument(
        "sources",
        type=Path,
        nargs="+",
        metavar="LEDGER",
        help="ledgers to read; they are not changed",
    )
    command.add_argument(
        "--into",
        type=Path,
        default=Path("results/runs"),
        metavar="LEDGER",
        help="ledger to add to (default: %(default)s)",
    )
    return command.parse_args(arguments)
