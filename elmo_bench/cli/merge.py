"""`elmo-bench merge LEDGER`: add the runs of a ledger that was made elsewhere."""

import argparse
import sys
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.merge import merge


def main(arguments: list[str]) -> int:
    """Merge and print what was done. The exit code is 1 if a file was skipped, or if scores are in conflict.

    Raises UserError if the ledger does not exist.
    """
    parser = argparse.ArgumentParser(
        prog="elmo-bench merge", description="Add the records, outcomes, heads and failures of another ledger."
    )
    parser.add_argument("source", type=Path, metavar="LEDGER", help="the ledger to read; it is not changed")
    parser.add_argument(
        "--into",
        type=Path,
        default=Path("results/runs"),
        metavar="LEDGER",
        help="ledger to add to (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if not options.source.is_dir():
        raise UserError(f"{options.source}: no such folder. Give the folder of a ledger.")
    if options.source.resolve() == options.into.resolve():
        raise UserError(f"{options.source}: the same ledger as --into. Give two different ones.")
    merged = merge(options.source, options.into)
    if not any(vars(merged).values()):
        raise UserError(f"{options.source}: no run in it. Give the folder of a ledger, such as results/runs.")
    for line in (*merged.conflicts, *merged.problems):
        print(f"elmo-bench merge: {line}", file=sys.stderr)
    print(
        f"{options.into}: {len(merged.added)} records added, {len(merged.present)} were present, "
        f"{len(merged.failures)} failures added; {len(merged.conflicts)} conflicts, {len(merged.problems)} skipped"
    )
    return int(bool(merged.problems or merged.conflicts))
