"""Joining ledgers that were made on different machines."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, disk_errors
from elmo_bench.ledger.paths import RunPaths, list_runs, run_lock
from elmo_bench.ledger.record import Copies
from elmo_bench.ledger.store import Metrics, read_all, read_outcomes, read_record_at, write_record

# What a run leaves in its work folder: see `record` (runner/run.py) and training/loggers.py.
KEPT = ("head.safetensors", "dev.predictions.*", "test.predictions.*",
        "log/metrics.csv", "log/hparams.yaml", "log/events.out.tfevents.*")  # fmt: skip


@dataclass
class Merged:
    """What `merge` did. A conflict or problem is one line."""

    added: list[RunPaths] = field(default_factory=list)
    present: list[RunPaths] = field(default_factory=list)  # with the same scores and outcomes
    conflicts: list[str] = field(default_factory=list)  # the same run with different scores: ours stays
    problems: list[str] = field(default_factory=list)  # damaged, wrong, held by another process, or a link: skipped


def merge(source: Path, into: Path, metrics: Metrics) -> Merged:
    """Add the runs of the ledger `source` to the ledger `into`: records, outcomes, and the files of KEPT.

    metrics: see `read_all`. Raises UserError if `into` cannot be written.
    """
    merged = Merged()
    runs, merged.problems = list_runs(source)
    copies = Copies()
    read_all(into, metrics=metrics, copies=copies)
    if runs:
        with disk_errors(into):
            into.mkdir(parents=True, exist_ok=True)
        if not os.access(into, os.W_OK):
            raise UserError(f"{into}: cannot be written")
    for run, names in runs.items():
        ours = RunPaths(into, run.suite, run.task, run.encoder, run.hash, run.seed)
        try:
            if run.record.name in names:
                with run_lock(ours):
                    _merge_record(run, ours, merged, copies, metrics)
        except UserError as error:
            merged.problems.append(str(error))
    return merged


def _merge_record(theirs: RunPaths, ours: RunPaths, merged: Merged, copies: Copies, metrics: Metrics) -> None:
    record, outcomes = read_record_at(theirs, copies, metrics=metrics), read_outcomes(theirs)
    if ours.record.exists():
        kept: Any = read_record_at(ours, metrics=metrics)
        if other := next((key for key in ("scores", "outcomes") if record[key] != kept[key]), ""):  # type: ignore[literal-required]
            merged.conflicts.append(f"{theirs.record}: other {other} than {ours.record}, which is kept")
        else:
            merged.present.append(ours)
        return
    for path in _kept(theirs):
        with path.open("rb") as source, atomic_write(ours.work / path.relative_to(theirs.work)) as file:
            shutil.copyfileobj(source, file)
    write_record(ours, record, outcomes)
    merged.added.append(ours)


def _kept(run: RunPaths) -> list[Path]:
    """The files of KEPT in the run's work folder that are no links: nothing else of a foreign folder is copied."""
    found = [] if run.work.is_symlink() else sorted(path for name in KEPT for path in run.work.glob(name))
    return [path for path in found if path.is_file() and not path.is_symlink() and not path.parent.is_symlink()]
