"""`elmo-bench clean`: remove what finished, killed and failed runs leave behind; never a current record."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import print_problems
from elmo_bench.cli import parser
from elmo_bench.ledger import HeldElsewhere, RunPaths, check_is_ledger, is_held, list_runs, read_all, run_lock


def main(arguments: list[str]) -> int:
    """Remove files and print their names. Leaves alone what is a link and what another process works on.

    The exit code is 2 if something could not be cleaned.
    """
    add = (command := parser("clean", "Half-written files go too.", ledger=True)).add_argument
    add("--stale", action="store_true", help="also records whose weights or data have changed since")
    add("--failures", action="store_true", help="also the failure files")
    add("--unfinished", action="store_true", help="also checkpoints of unfinished runs, which then start anew")
    add("--dry-run", action="store_true", help="only print what would be removed")
    options = command.parse_args(arguments)
    runs, problems = list_runs(options.ledger)
    check_is_ledger(options.ledger, problems)
    stale = _superseded(options.ledger) if options.stale else set()
    for run in runs:
        try:
            doomed = _leftovers(run, stale=run in stale, failures=options.failures, unfinished=options.unfinished)
            if options.dry_run:
                run.refuse_links()
                if is_held(run):
                    raise HeldElsewhere(run)
                print(*(f"would remove {path}\n" for path in doomed), sep="", end="")
                continue
            with run_lock(run):  # whose file goes with it
                for path in doomed:
                    _remove(path)
                    print(f"removed {path}")
        except HeldElsewhere as held:
            print(held)
        except UserError as error:  # a link, or no permission
            problems += {str(error)} - {*problems}
        else:
            _remove_empty_folders(run)
    print_problems("clean", problems)
    return 2 if problems else 0


def _superseded(ledger: Path) -> set[RunPaths]:
    """The runs that reports call superseded."""
    from elmo_bench.reporting.rows import select

    older = select(read_all(ledger).records).superseded
    return {RunPaths.of(ledger, record) for old, _ in older for record in old.records}


def _leftovers(run: RunPaths, *, stale: bool, failures: bool, unfinished: bool) -> Iterator[Path]:
    """What may go. A record goes before its outcomes, so that a kill in between leaves no record without them."""
    yield from sorted(run.folder.glob(f".seed{run.seed}.*"))
    if failures and run.failure.exists():
        yield run.failure
    if stale:
        yield from (path for path in (run.record, run.outcomes, run.work) if path.exists())
    elif run.record.exists():
        yield from sorted([*run.work.glob("*.ckpt"), *run.work.glob(".*")])
    elif unfinished:
        yield from (path for path in (run.outcomes, run.work) if path.exists())


def _remove(path: Path) -> None:
    """A link goes; what it leads to stays."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be removed ({error.strerror or error})") from None


def _remove_empty_folders(run: RunPaths) -> None:
    """Up to the ledger."""
    with suppress(OSError):  # the first that is not empty ends it
        for folder in filter(Path.exists, (run.work, run.folder, *run.folder.parents[:3])):
            folder.rmdir()
