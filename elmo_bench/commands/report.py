"""`python -m elmo_bench report`: render results/README.md from the ledger, and from nothing else."""

import argparse
import json
from pathlib import Path

from elmo_bench.files import atomic_write
from elmo_bench.ledger import read_failures, read_ledger
from elmo_bench.reporting.page import aggregated, page
from elmo_bench.reporting.select import select


def main(arguments: list[str]) -> int:
    """Write the page, or print its rows as JSON; raises UserError for a damaged record."""
    parser = argparse.ArgumentParser(prog="python -m elmo_bench report", description="Render a page from the ledger.")
    parser.add_argument(
        "--ledger", type=Path, default=Path("results/runs"), help="folder of records (default: %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results/README.md"), help="page to write (default: %(default)s)"
    )
    parser.add_argument("--suite", nargs="+", metavar="SUITE", help="suites to show (default: every one but mini)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON and write no page")
    options = parser.parse_args(arguments)

    def shown(suite: str) -> bool:
        return suite in options.suite if options.suite else suite != "mini"

    selection = select(record for record in read_ledger(options.ledger) if shown(record["suite"]))
    if options.json:
        print(json.dumps(aggregated(selection), indent=1, ensure_ascii=False))
        return 0
    failures = [(run, failure) for run, failure in read_failures(options.ledger) if shown(run.suite)]
    # Without the folders, which may be of this machine alone.
    command = " ".join(["python -m elmo_bench report", *(["--suite", *options.suite] if options.suite else [])])
    with atomic_write(options.out, "w") as handle:
        handle.write(page(selection, failures, command=command))
    print(f"{options.out}: {len(selection.rows)} rows, {len(selection.stale)} superseded, {len(failures)} failed")
    return 0
