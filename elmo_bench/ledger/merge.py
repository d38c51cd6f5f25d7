"""Joining ledgers that were made on different machines."""

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.ledger.lock import run_lock
from elmo_bench.ledger.paths import RunPaths, list_runs
from elmo_bench.ledger.record import Record
from elmo_bench.ledger.store import (
    put_failure,
    read_failure,
    read_outcomes,
    read_record_at,
    write_record,
)


@dataclass
class Merged:
    """What `merge` did. A conflict or problem is one line."""

    added: list[RunPaths] = field(default_factory=list)
    present: list[RunPaths] = field(default_factory=list)  # with the same scores and outcomes
    failures: list[RunPaths] = field(default_factory=list)  # added
    conflicts: list[str] = field(default_factory=list)  # the same run with different scores: ours stays
    problems: list[str] = field(default_factory=list)  # damaged, held by another process, or a link: skipped


def merge(source: Path, into: Path, *, overwrite: bool = False) -> Merged:
    """Add the runs of the ledger `source` to the ledger `into`: records, outcomes, kept heads and failures.

    overwrite: a record of `source` replaces ours. A failure is added if we have no record and no later failure.
    Raises UserError if `into` cannot be written.
    """
    merged = Merged()
    runs, merged.problems = list_runs(source)
    if runs:
        _make_writable(into)
    for run, names in runs.items():
        ours = RunPaths(into, run.suite, run.task, run.encoder, run.hash, run.seed)
        try:
            if run.record.name in names:
                with run_lock(ours):
                    _merge_record(run, ours, merged, overwrite=overwrite)
            elif run.failure.name in names and not ours.record.exists():
                failure = read_failure(run.failure)
                if not ours.failure.exists() or read_failure(ours.failure)["created"] < failure["created"]:
                    put_failure(ours, failure)
                    merged.failures.append(ours)
        except UserError as error:
            merged.problems.append(str(error))
    return merged


def pack(ledger: Path) -> dict[str, bytes]:
    """The files of a ledger that `merge` would take, by their path in it."""
    return {
        path.relative_to(ledger).as_posix(): path.read_bytes()
        for run, names in list_runs(ledger)[0].items()
        for path in (run.record, run.outcomes, run.failure, *_kept(run))
        if path.name in names or run.work in path.parents
    }


def unpack(files: dict[str, bytes], ledger: Path) -> None:
    """Write what `pack` gave. Raises UserError for a path that leads out of the ledger."""
    for name, data in files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise UserError(f"{name}: not a path in a ledger")
        with atomic_write(ledger / name) as file:
            file.write(data)


def _make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror or error})") from None
    if not os.access(folder, os.W_OK):
        raise UserError(f"{folder}: cannot be written")


def _merge_record(theirs: RunPaths, ours: RunPaths, merged: Merged, *, overwrite: bool) -> None:
    record, outcomes = read_record_at(theirs), read_outcomes(theirs)
    if ours.record.exists() and not overwrite:
        if difference := _difference(record, outcomes, ours):
            merged.conflicts.append(f"{theirs.record}: {difference} than {ours.record}, which is kept")
            return
        merged.present.append(ours)
        return
    for path in _kept(theirs):
        with atomic_write(ours.work / path.relative_to(theirs.work)) as file:
            file.write(path.read_bytes())
    write_record(ours, record, outcomes)
    merged.added.append(ours)


def _difference(record: Record, outcomes: dict[str, np.ndarray], ours: RunPaths) -> str:
    here, there = read_record_at(ours)["scores"], record["scores"]
    if here != there:
        metric = record["metric"]
        scores = [
            f"{split[:4]} {there[split]['overall'][metric]:.2f}, ours {here[split]['overall'][metric]:.2f}"  # type: ignore[literal-required]
            for split in ("dev", "test")
            if metric in here[split]["overall"]
        ]  # type: ignore[literal-required]
        return f"other scores ({metric}: {'; '.join(scores)})"
    kept = read_outcomes(ours)
    same = kept.keys() == outcomes.keys() and all(np.array_equal(kept[name], outcomes[name]) for name in kept)
    return "" if same else "other outcomes"


def _kept(run: RunPaths) -> list[Path]:
    """The regular files in the run's work folder but checkpoints and temporary files: the head, predictions, logs."""
    if run.work.is_symlink():
        return []
    found = (Path(folder, name) for folder, _, names in os.walk(run.work) for name in names)
    return sorted(
        path
        for path in found
        if path.is_file() and not path.is_symlink() and path.suffix != ".ckpt" and not path.name.startswith(".")
    )
