"""`elmo-bench report`: render the leaderboard from the ledger, and from nothing else."""

import argparse
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import Ledger, check_exists, read_all
from elmo_bench.ledger.costs import read_costs
from elmo_bench.reporting.console import report_folder
from elmo_bench.spec.names import metric_of


def main(arguments: list[str]) -> int:
    """Write the leaderboard.

    The exit code is 1 if a file of the ledger had to be skipped. Raises UserError for a ledger that is missing, for a
    folder that has files but no runs, and for a suite without runs.
    """
    options = _parse(arguments)
    from elmo_bench.reporting.leaderboard import leaderboard
    from elmo_bench.reporting.page import read_findings, write, write_published, write_readme
    from elmo_bench.reporting.results import write_logs
    from elmo_bench.reporting.rows import select

    read = _read(options.ledger, options.suite)
    if options.costs and not options.costs.is_dir():
        raise UserError(f"--costs {options.costs}: no such folder. Give the folder that `elmo-bench cost` wrote.")
    costs, problems = read_costs(options.costs or options.ledger.absolute().parent / "costs")
    selection = select(read.records)
    print_problems("report", [*selection.unknown, *selection.notes])
    # Without the folders, which may be of this machine alone.
    command = " ".join(["elmo-bench report", *(["--suite", *options.suite] if options.suite else [])])
    board = leaderboard(selection, ledger=options.ledger, command=command, costs=costs)
    said = read_findings(board, options.out)
    print_problems("report", [*problems, *(line for own in said.values() for line in own.untrue)])
    files = write(board, ledger=options.ledger, out=options.out, said=said)
    if options.readme:
        write_readme(board, options.readme, options.out)
    if options.every_eval_ever:
        write_logs(board.selection.rows, options.every_eval_ever)
    if options.published:
        write_published(board, options.published)
    rows, older = len(board.selection.rows), len(board.selection.superseded)
    print(f"{options.out}: {rows} rows, {older} superseded; {len(files)} files")
    return int(bool(read.problems or problems))


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("report", "Writes README.md, index.html, and the folders tables and figures.", ledger=True)
    add = command.add_argument
    add("--costs", type=Path, help="folder of `elmo-bench cost` (default: costs next to the ledger, if there is one)")
    add("--out", type=Path, help="folder to write to (default: results, or LEDGER-report of another ledger)")
    add("--suite", nargs="+", metavar="SUITE", help="suites to show (default: all)")
    add("--readme", type=Path, metavar="FILE", help="also write the main table between the markers in this file")
    add("--every-eval-ever", type=Path, metavar="FILE", help="also write the runs in the schema of Every Eval Ever")
    add("--published", type=Path, metavar="FILE", help="also write the scores that runs are compared with at their end")
    options = command.parse_args(arguments)
    options.out = options.out or report_folder(options.ledger)
    return options


def _read(ledger: Path, suites: list[str] | None) -> Ledger:
    """The records of these suites, after a line on stderr for each file that was skipped."""
    check_exists(ledger)
    read = read_all(ledger, metrics=metric_of)
    print_problems("report", read.problems)
    known = {record["spec"]["suite"] for record in read.records}
    if not known and any(ledger.iterdir()):
        raise UserError(f"--ledger {ledger}: no run in it. Give the folder of the records.")
    if unknown := [suite for suite in suites or () if suite not in known]:
        raise UserError(f"--suite {' '.join(unknown)}: no run in {ledger}, which has {', '.join(sorted(known))}")
    shown = set(suites or known)
    return read._replace(records=[record for record in read.records if record["spec"]["suite"] in shown])
