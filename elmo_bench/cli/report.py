"""`python -m elmo_bench report`: render the leaderboard from the ledger, and from nothing else."""

import argparse
import json
import sys
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_failures, read_ledger
from elmo_bench.reporting.select import select


def main(arguments: list[str]) -> int:
    """Write the leaderboard, or print its rows as JSON.

    Raises UserError for a damaged record, and where there is no such ledger, no run in it, or none of a suite that was
    named.
    """
    parser = argparse.ArgumentParser(
        prog="python -m elmo_bench report",
        description="Render the leaderboard: README.md, index.html, and the folders tables and figures.",
    )
    parser.add_argument(
        "--ledger", type=Path, default=Path("results/runs"), help="folder of records (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder to write to (default: %(default)s)")
    parser.add_argument("--suite", nargs="+", metavar="SUITE", help="suites to show (default: every one but mini)")
    parser.add_argument(
        "--unlike",
        action="store_true",
        help="put runs on other data, of another version of the task or of another size into one column, labelled",
    )
    parser.add_argument("--wandb", metavar="PROJECT", help="also upload the tables and figures to this wandb project")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON and write no files")
    options = parser.parse_args(arguments)

    def shown(suite: str) -> bool:
        return suite in options.suite if options.suite else suite != "mini"

    if not options.ledger.is_dir():
        raise UserError(f"--ledger {options.ledger}: no such folder; give the folder of the records")
    records, failures = read_ledger(options.ledger), read_failures(options.ledger)
    held = {record["suite"] for record in records} | {run.suite for run, _ in failures}
    if not held:
        raise UserError(f"--ledger {options.ledger}: no run in it; give the folder of the records")
    if unknown := [suite for suite in options.suite or () if suite not in held]:
        raise UserError(f"--suite {' '.join(unknown)}: no run in {options.ledger}, which has {', '.join(sorted(held))}")
    selection = select(record for record in records if shown(record["suite"]))
    if options.json:
        from elmo_bench.reporting.gains import gains_from  # scipy and matplotlib take their time
        from elmo_bench.reporting.plain import aggregated

        print(json.dumps(aggregated(selection, gains_from(options.ledger)), indent=1, ensure_ascii=False))
        return 0
    from elmo_bench.reporting.leaderboard import leaderboard
    from elmo_bench.reporting.page.files import write

    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {options.out}: cannot be a folder ({error.strerror})") from None
    failures = [(run, failure) for run, failure in failures if shown(run.suite)]
    # Without the folders, which may be of this machine alone.
    flags = [*(["--suite", *options.suite] if options.suite else []), *(["--unlike"] if options.unlike else [])]
    command = " ".join(["python -m elmo_bench report", *flags])
    board = leaderboard(selection, failures, ledger=options.ledger, command=command, unlike=options.unlike)
    apart = [group.name for suite in board.suites for group in suite.groups if group.apart]
    if apart:
        print(
            f"kept in rows and tables of their own: {'; '.join(apart)} (--unlike puts them together)", file=sys.stderr
        )
    files = write(board, ledger=options.ledger, out=options.out)
    rows, stale = len(selection.rows), len(selection.stale)
    print(f"{options.out}: {rows} rows, {stale} superseded, {len(failures)} failed; {len(files)} files")
    if options.wandb:
        from elmo_bench.reporting.page.upload import upload

        print(f"wandb: {upload(board, options.out, project=options.wandb)}")
    return 0
