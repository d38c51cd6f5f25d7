"""`python -m elmo_bench clean`: remove what finished, killed and failed runs leave behind; never a current record."""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

from elmo_bench.ledger import HeldElsewhere, RunPaths, is_held, read_ledger, run_lock, runs_in
from elmo_bench.reporting.select import select


def main(arguments: list[str]) -> int:
    """Remove and say what was removed; a run whose lock is held is left alone."""
    parser = argparse.ArgumentParser(
        prog="python -m elmo_bench clean",
        description="Remove checkpoints of finished runs, locks that nobody holds and half-written files.",
    )
    parser.add_argument(
        "--ledger", type=Path, default=Path("results/runs"), help="folder of records (default: %(default)s)"
    )
    parser.add_argument("--stale", action="store_true", help="also records whose weights or data have changed since")
    parser.add_argument("--failures", action="store_true", help="also the failure files")
    parser.add_argument(
        "--unfinished", action="store_true", help="also checkpoints of unfinished runs, which then start anew"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    options = parser.parse_args(arguments)

    total = 0
    stale = _stale(options.ledger) if options.stale else set()
    for run in runs_in(options.ledger):
        orphans = [path for path in (run.lock, *sorted(run.folder.glob(f"{run.lease.name}*"))) if path.exists()]
        try:
            if options.dry_run and is_held(run):
                raise HeldElsewhere(f"{run.work}: another process is working on this run: left to it")
            with nullcontext() if options.dry_run else run_lock(run):
                doomed = [*orphans]
                doomed += _leftovers(run, stale=run in stale, failures=options.failures, unfinished=options.unfinished)
                for path in doomed:
                    size = _size(path)
                    total += size
                    if not options.dry_run:
                        _remove(path)
                    print(f"{'would remove' if options.dry_run else 'removed'} {path} ({_readable(size)})")
        except HeldElsewhere as held:
            print(held)
            continue
        if not options.dry_run:
            _prune(run)
    print(f"{'would free' if options.dry_run else 'freed'} {_readable(total)}")
    return 0


def _stale(ledger: Path) -> set[RunPaths]:
    return {RunPaths.of(ledger, record) for old, _ in select(read_ledger(ledger)).stale for record in old.records}


def _leftovers(run: RunPaths, *, stale: bool, failures: bool, unfinished: bool) -> Iterator[Path]:
    """What may go. A record goes before its outcomes, so that a kill in between leaves no record without them."""
    yield from sorted(run.folder.glob(f".seed{run.seed}.*"))
    if failures and run.failure.exists():
        yield run.failure
    finished = run.record.exists()
    if stale:
        yield from (path for path in (run.record, run.outcomes, run.work) if path.exists())
    elif finished:
        yield from sorted([*run.work.glob("*.ckpt"), *run.work.glob(".*")])
    elif unfinished:
        yield from (path for path in (run.outcomes, run.work) if path.exists())


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _prune(run: RunPaths) -> None:
    """Empty folders go too, up to the ledger."""
    with suppress(OSError):  # the first that is not empty ends it
        for folder in (run.work, *([run.folder, *run.folder.parents][:4])):
            if folder.exists():
                folder.rmdir()


def _readable(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024  # type: ignore[assignment]
    return f"{size:.1f} GiB"
