"""Joining ledgers that were made on different machines."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, disk_errors
from elmo_bench.base.refusals import make_folder
from elmo_bench.ledger.checks import Copies
from elmo_bench.ledger.locks import run_lock
from elmo_bench.ledger.paths import RunPaths, list_runs
from elmo_bench.ledger.record import Record
from elmo_bench.ledger.store import (
    Metrics,
    read_all,
    read_outcomes,
    read_record_at,
    rewrite_record,
    write_record,
)

# What a run leaves in its work folder: see `_trained` and `_remove_rest`
# (runner/run.py) and training/loggers.py.
HEAD = "head.safetensors"
KEPT = (
    HEAD,
    "dev.predictions.*",
    "test.predictions.*",
    "log/metrics.csv",
    "log/hparams.yaml",
    "log/events.out.tfevents.*",
)
# The changes of a record's run from the default run; None if its task or encoder is not
# installed (`spec.run_spec.changes_of`).
Changes = Callable[[Record], dict[str, str] | None]


@dataclass
class Merged:
    """What `merge` did. A conflict or problem is one line."""

    added: list[RunPaths] = field(default_factory=list)
    # With the same scores and outcomes.
    present: list[RunPaths] = field(default_factory=list)
    # Of these, the ones whose `changes` were added or corrected.
    completed: list[RunPaths] = field(default_factory=list)
    # The same run with different scores: ours stays.
    conflicts: list[str] = field(default_factory=list)
    # Damaged, wrong, held by another process, or a link: skipped.
    problems: list[str] = field(default_factory=list)


def merge(
    source: Path,
    into: Path,
    metrics: Metrics,
    changes: Changes,
    copies: Copies | None = None,
) -> Merged:
    """Add the runs of the ledger `source` to the ledger `into`.

    Records, outcomes and the files of KEPT are added; of a record that is present, the
    files that it lacks of the same attempt. In both ledgers' runs of `into`, the
    `changes` of a record become what its settings say: records of older commits lack
    them, and nobody's word is taken for them. `source` may be `into`.

    metrics, copies: see `read_all`. Raises UserError if `into` cannot be written.
    """
    merged = Merged()
    runs, merged.problems = list_runs(source)
    if copies is None:
        copies = Copies()
    if source.resolve() != into.resolve():
        read_all(into, metrics=metrics, copies=copies)
    if runs:
        with disk_errors(into):
            make_folder(into)
        if not os.access(into, os.W_OK):
            raise UserError(
                f"{into}: cannot be written. Give a folder that you may write to."
            )
    for run, names in runs.items():
        ours = RunPaths(into, run.suite, run.task, run.encoder, run.hash, run.seed)
        if run.record.name not in names:
            continue
        try:
            with disk_errors(run.work), run_lock(ours):
                record = read_record_at(run, copies, metrics=metrics)
                _add(run, ours, record, merged, metrics)
                _complete(ours, merged, changes)
        except UserError as error:
            merged.problems.append(str(error))
    return merged


def _add(
    theirs: RunPaths, ours: RunPaths, record: Record, merged: Merged, metrics: Metrics
) -> None:
    """Add a record, or the files that it lacks if it is here already."""
    outcomes = read_outcomes(theirs)
    if not ours.record.exists():
        _copy_files(theirs, ours, replace=True)
        write_record(ours, record, outcomes)
        merged.added.append(ours)
        return
    present = read_record_at(ours, metrics=metrics)
    differs = [
        key
        for key in ("scores", "outcomes")
        if getattr(record, key) != getattr(present, key)
    ]
    if differs:
        merged.conflicts.append(
            f"{theirs.record}: other {differs[0]} than {ours.record}, which is kept"
        )
        return
    merged.present.append(ours)
    if record.attempt == present.attempt:
        _add_missing(theirs, ours, record, present)


def _add_missing(
    theirs: RunPaths, ours: RunPaths, record: Record, present: Record
) -> None:
    """Add the files of KEPT that ours lacks of the same attempt; none is replaced.

    With their head comes what their record says of it: it may be refitted. Where ours
    was refitted and theirs was not, their head is another, and is left out.
    """
    names = list(KEPT)
    is_other_head = present.refit is not None and record.refit is None
    if is_other_head or (ours.work / HEAD).exists():
        names.remove(HEAD)
    copied = _copy_files(theirs, ours, names, replace=False)
    if HEAD in copied:
        update: dict[str, Any] = {"kept": record.kept}
        if record.refit is not None:
            update["refit"] = record.refit
        rewrite_record(ours, present.model_copy(update=update))


def _complete(run: RunPaths, merged: Merged, changes: Changes) -> None:
    """Let the `changes` of a record be what its settings say."""
    record = read_record_at(run)
    right = changes(record)
    if right is None or record.changes == right:
        return
    rewrite_record(run, record.model_copy(update={"changes": right}))
    merged.completed.append(run)


def _copy_files(
    theirs: RunPaths, ours: RunPaths, names: Sequence[str] = KEPT, *, replace: bool
) -> list[str]:
    """Copy the files of these names; returns the paths of the copied ones.

    Nothing else of a foreign folder is copied, and no link. replace: also files that
    ours has.
    """
    copied: list[str] = []
    if theirs.work.is_symlink():
        return copied
    for name in names:
        for path in sorted(theirs.work.glob(name)):
            if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
                continue
            relative = path.relative_to(theirs.work)
            target = ours.work / relative
            if target.exists() and not replace:
                continue
            with _opened(path) as source, atomic_write(target) as file:
                shutil.copyfileobj(source, file)
            copied.append(str(relative))
    return copied


def _opened(path: Path) -> IO[bytes]:
    """A file of their ledger. Raises UserError if it cannot be read."""
    try:
        return path.open("rb")
    except OSError as error:
        why = error.strerror or error
        raise UserError(
            f"{path}: cannot be read ({why}). Look at the file and its disk."
        ) from None
