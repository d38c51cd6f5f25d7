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
    from elmo_bench.reporting.findings import Findings, read_findings
    from elmo_bench.reporting.frame import runs
    from elmo_bench.reporting.leaderboard import leaderboard
    from elmo_bench.reporting.remarks import left_out, remarks
    from elmo_bench.reporting.render import write, write_published, write_readme
    from elmo_bench.reporting.results import write_logs

    read = _read(options.ledger, options.suite)
    costs, problems = read_costs(_cost_folder(options))
    frame = runs(options.ledger, read.records)
    print_problems("report", [*left_out(frame), *remarks(frame)])
    suites = ["--suite", *options.suite] if options.suite else []
    command = " ".join(["elmo-bench report", *suites])  # without the folders, which may be of this machine alone
    board = leaderboard(frame, command=command, costs=costs)
    findings: dict[str, Findings] = {}
    for suite in board.suites.name if options.findings else ():
        findings[suite] = read_findings(options.findings, suite, board.tables)
    untrue = [line for of_suite in findings.values() for line in of_suite.untrue]
    print_problems("report", [*problems, *untrue])
    files = write(board, ledger=options.ledger, out=options.out, findings=findings)
    for page in options.readme:
        write_readme(board, page, options.out)
    if options.every_eval_ever:
        write_logs(frame, board.systems, options.every_eval_ever)
    if options.published:
        write_published(board, options.published)
    older = frame[~frame.current].hash.nunique()
    print(f"{options.out}: {len(board.systems)} rows, {older} superseded; {len(files)} files")
    if not options.findings and any(options.out.glob("FINDINGS-*.md")):
        print(
            f"{options.out}: its findings are left out, since their claims are code. If you trust it: "
            f"--findings {options.out}"
        )
    return int(bool(read.problems or problems))


def _parse(arguments: list[str]) -> argparse.Namespace:
    command = parser("report", "Writes README.md, index.html, and the folders tables and figures.", ledger=True)
    add = command.add_argument
    add("--costs", type=Path, help="folder of `elmo-bench cost` (default: costs next to the ledger, if there is one)")
    add("--out", type=Path, help="folder to write to (default: results, or LEDGER-report of another ledger)")
    add("--suite", nargs="+", metavar="SUITE", help="suites to show (default: all)")
    add("--findings", type=Path, metavar="FOLDER", help="of FINDINGS-SUITE.md and findings_SUITE.py, which is run as "
        "code (default: none)")  # fmt: skip
    add("--readme", type=Path, nargs="+", default=[], metavar="FILE", help="also write the main table and the minutes "
        "between the markers in these files")  # fmt: skip
    add("--every-eval-ever", type=Path, metavar="FILE", help="also write the runs in the schema of Every Eval Ever")
    add("--published", type=Path, metavar="FILE", help="also write the scores that runs are compared with at their end")
    options = command.parse_args(arguments)
    options.out = options.out or report_folder(options.ledger)
    return options


def _cost_folder(options: argparse.Namespace) -> Path:
    if options.costs and not options.costs.is_dir():
        raise UserError(f"--costs {options.costs}: no such folder. Give the folder that `elmo-bench cost` wrote.")
    return options.costs or options.ledger.absolute().parent / "costs"


def _read(ledger: Path, suites: list[str] | None) -> Ledger:
    """The records of these suites, after a line on stderr for each file that was skipped."""
    check_exists(ledger)
    read = read_all(ledger, metrics=metric_of)
    print_problems("report", read.problems)
    present = {record.spec.suite for record in read.records}
    if not present and any(ledger.iterdir()):
        raise UserError(f"--ledger {ledger}: no run in it. Give the folder of the records.")
    if unknown := [suite for suite in suites or () if suite not in present]:
        names = ", ".join(sorted(present))
        raise UserError(f"--suite {' '.join(unknown)}: no run in {ledger}, which has {names}")
    shown = set(suites or present)
    return read._replace(records=[record for record in read.records if record.spec.suite in shown])
