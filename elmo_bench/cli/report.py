"""`elmo-bench report`: render the leaderboard from the ledger, and nothing else."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.base.collection import no_collection
from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted, print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import Copies, Keep, Ledger, check_exists, read_all
from elmo_bench.ledger.costs import read_costs
from elmo_bench.reporting import receipts
from elmo_bench.reporting.endings import report_folder
from elmo_bench.spec.names import metric_of

if TYPE_CHECKING:
    import pandas as pd

    from elmo_bench.reporting.findings import Findings
    from elmo_bench.reporting.leaderboard import Leaderboard

FINDINGS = "Give the folder of FINDINGS-SUITE.md."


def main(arguments: list[str]) -> int:
    """Write the leaderboard, unless nothing has changed since it was written.

    The exit code is 1 if a file of the ledger had to be skipped. Raises UserError for a
    ledger that is missing, for a folder that has files but no runs, for a suite without
    runs, and for a folder of findings without any.
    """
    return _report(_parse(arguments))


def _report(options: argparse.Namespace) -> int:
    check_exists(options.ledger)
    costs = _cost_folder(options)
    if options.findings and not options.findings.is_dir():
        raise UserError(f"--findings {options.findings}: no such folder. {FINDINGS}")
    sources = _sources(options, costs)
    inputs = sources.digest()
    files = receipts.files_if_unchanged(sources, inputs)
    if files is not None:
        page = options.out / "index.html"
        print(f"{page}: nothing has changed since it was written, {len(files)} files")
        _print_findings_hint(options)
        return 0
    with no_collection(), noted() as notes:
        written, problems, remarks = _make(options, costs)
    # What a report prints besides its last line is printed again by the next one.
    if not (problems or remarks or notes or options.every_eval_ever):
        receipts.keep_receipt(sources, inputs, written)
    _print_findings_hint(options)
    return int(bool(problems))


def _make(
    options: argparse.Namespace, cost_folder: Path
) -> tuple[dict[Path, str], list[str], list[str]]:
    """Make the report.

    Returns the SHA-256 of the files by path, and the lines that were printed: one for
    each file that was skipped; and all others.
    """
    from elmo_bench.reporting.frame import runs
    from elmo_bench.reporting.leaderboard import leaderboard
    from elmo_bench.reporting.outcomes import CachedOutcomes
    from elmo_bench.reporting.remarks import left_out, remarks

    outcomes = CachedOutcomes()
    read = _read(options.ledger, options.suite, outcomes.keep)
    costs, problems = read_costs(cost_folder)
    frame = runs(options.ledger, read.records)
    lines = [*left_out(frame), *remarks(frame)]
    print_problems("report", lines)
    command = _command(options)
    board = leaderboard(frame, command=command, costs=costs, read=outcomes)
    findings = _findings(options, board)
    untrue: list[str] = []
    for of_suite in findings.values():
        untrue += of_suite.untrue
    print_problems("report", [*problems, *untrue])
    written, of_page = _write(options, board, frame, findings)
    older = frame[~frame.current].hash.nunique()
    rows = len(board.systems)
    page = options.out / "index.html"
    print(f"{page}: {rows} rows, {older} superseded; {of_page} files in {options.out}")
    return written, [*read.problems, *problems], [*lines, *untrue]


def _sources(options: argparse.Namespace, costs: Path) -> receipts.Sources:
    others = {"suite": " ".join(options.suite or ())}
    for number, page in enumerate(options.readme):
        others[f"readme {number}"] = str(page.absolute())
    for name in ("published", "every_eval_ever"):
        path = getattr(options, name)
        others[name] = str(path.absolute()) if path else ""
    return receipts.Sources(
        options.ledger, costs, options.findings, options.out, others
    )


def write_page(ledger: Path, suite: str) -> Path:
    """The page of the runs on one data set of the user's own, which is written anew.

    It is beside the ledger, in a folder of its name.
    """
    out = report_folder(ledger) / "pages" / suite
    options = _parse(["--ledger", str(ledger), "--suite", suite, "--out", str(out)])
    from elmo_bench.reporting.frame import runs
    from elmo_bench.reporting.leaderboard import leaderboard
    from elmo_bench.spec.run_spec import is_drawn

    copies = Copies(is_drawn)
    read = read_all(ledger, [suite], metrics=metric_of, copies=copies)
    frame = runs(ledger, read.records)
    _write(options, leaderboard(frame, command=_command(options)), frame, {})
    return out / "index.html"


def _parse(arguments: list[str]) -> argparse.Namespace:
    about = "Writes README.md, index.html, and the folders tables and figures."
    command = parser("report", about, ledger=True)
    add = command.add_argument
    add(
        "--costs",
        type=Path,
        help="folder of `elmo-bench cost` "
        "(default: costs next to the ledger, if there is one)",
    )
    add(
        "--out",
        type=Path,
        help="folder to write to "
        "(default: results, or LEDGER-report of another ledger)",
    )
    add("--suite", nargs="+", metavar="SUITE", help="suites to show (default: all)")
    add(
        "--findings",
        type=Path,
        metavar="FOLDER",
        help="of FINDINGS-SUITE.md and findings_SUITE.py, which is run as code "
        "(default: none)",
    )
    add(
        "--readme",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="also write the main table and the minutes between the markers in these "
        "files",
    )
    add(
        "--every-eval-ever",
        type=Path,
        metavar="PATH",
        help="also write the runs in the schema of Every Eval Ever: a line each into a "
        "file (.jsonl); or a folder as in its datastore, with each test item's score",
    )
    add(
        "--published",
        type=Path,
        metavar="FILE",
        help="also write the scores that runs are compared with at their end",
    )
    options = command.parse_args(arguments)
    options.out = options.out or report_folder(options.ledger)
    return options


def _read(ledger: Path, suites: list[str] | None, keep: Keep) -> Ledger:
    """The records of these suites, after a line on stderr for each skipped file.

    keep: gets their outcomes.
    """
    from elmo_bench.spec.run_spec import is_drawn

    copies = Copies(is_drawn)
    read = read_all(ledger, metrics=metric_of, copies=copies, keep=keep)
    print_problems("report", read.problems)
    present = {record.spec.suite for record in read.records}
    if not present and any(ledger.iterdir()):
        raise UserError(
            f"--ledger {ledger}: no run in it. Give the folder of the records."
        )
    unknown = [suite for suite in suites or () if suite not in present]
    if unknown:
        names = ", ".join(sorted(present))
        raise UserError(
            f"--suite {' '.join(unknown)}: no run in {ledger}, which has {names}"
        )
    wanted = set(suites or present)
    records = [record for record in read.records if record.spec.suite in wanted]
    return read._replace(records=records)


def _cost_folder(options: argparse.Namespace) -> Path:
    folder: Path | None = options.costs
    if folder is None:
        return Path(options.ledger).absolute().parent / "costs"
    if not folder.is_dir():
        raise UserError(
            f"--costs {folder}: no such folder. "
            "Give the folder that `elmo-bench cost` wrote."
        )
    return folder


def _command(options: argparse.Namespace) -> str:
    """The command, without the folders, which may be of this machine alone."""
    suites = ["--suite", *options.suite] if options.suite else []
    return " ".join(["elmo-bench report", *suites])


def _findings(
    options: argparse.Namespace, board: "Leaderboard"
) -> "dict[str, Findings]":
    """The findings of each suite, if a folder of them is given.

    Raises UserError for a folder without findings of these suites.
    """
    if not options.findings:
        return {}
    from elmo_bench.reporting.findings import findings_file, read_findings

    suites = list(board.suites.name)
    files = [findings_file(options.findings, suite) for suite in suites]
    if suites and not any(file.exists() for file in files):
        raise UserError(
            f"--findings {options.findings}: no findings of {', '.join(suites)}. "
            f"{FINDINGS}"
        )
    return {
        suite: read_findings(options.findings, suite, board.tables) for suite in suites
    }


def _write(
    options: argparse.Namespace,
    board: "Leaderboard",
    frame: "pd.DataFrame",
    findings: "dict[str, Findings]",
) -> tuple[dict[Path, str], int]:
    """Write the page and the other files that the options ask for.

    Returns the SHA-256 of each by path, without `--every-eval-ever`, and the number of
    files in the folder of the page.
    """
    from elmo_bench.reporting.every_eval_ever import write_datastore, write_logs
    from elmo_bench.reporting.render import write, write_published, write_readme

    written = write(board, ledger=options.ledger, out=options.out, findings=findings)
    of_page = len(written)
    for page in options.readme:
        written[page] = write_readme(board, page, options.out)
    if options.every_eval_ever:
        is_file = options.every_eval_ever.suffix == ".jsonl"
        write_runs = write_logs if is_file else write_datastore
        write_runs(frame, board.systems, options.every_eval_ever)
    if options.published:
        written[options.published] = write_published(board, options.published)
    return written, of_page


def _print_findings_hint(options: argparse.Namespace) -> None:
    """Say how findings are shown, if the folder has some that were not asked for."""
    out = options.out
    if not options.findings and any(out.glob("FINDINGS-*.md")):
        print(
            f"{out}: its findings are left out, since their claims are code. "
            f"If you trust it: --findings {out}"
        )
