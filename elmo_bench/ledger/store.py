"""Reading and writing the ledger: a file is written atomically, and a record implies its outcomes."""

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.json import read_json
from elmo_bench.base.metric import Counting
from elmo_bench.base.reading import reader, reading
from elmo_bench.ledger.outcomes import check_figures, check_stored, compact, digest_of, of_split
from elmo_bench.ledger.paths import Holder, RunPaths, holder_of, list_runs
from elmo_bench.ledger.record import SCHEMA, Copies, Record, check_record

MAX_OUTCOME_BYTES = 2**20
MAX_UNPACKED_BYTES = 2**26  # of all arrays of a file
MAX_RECORD_BYTES = 2**24


Metrics = Callable[[str], Counting | None]  # by task; None if it is not installed (`spec.names.metric_of`)


class Ledger(NamedTuple):
    """The contents of a ledger. A problem is one line about a file that was skipped."""

    records: list[Record]
    problems: list[str]


@reader
def read_all(
    root: Path, within: Sequence[str] = (), *, metrics: Metrics | None = None, copies: Copies | None = None
) -> Ledger:
    """Every record of a ledger, or of this suite, task and encoder of it, each read once and checked in full.

    They are sorted by suite, task, encoder, hash and seed. A folder that does not exist has none. A file that is
    damaged, of another version, in the wrong place, a copy of another run or a link is skipped and named in `problems`.
    metrics: so is a record whose scores do not follow from its outcomes (`read_record_at`); takes milliseconds for
    each. Whoever shows scores gives them. copies: gets to know all records.
    """
    metrics = metrics and cache(metrics)
    runs, problems = list_runs(root, within)
    ledger, copies = Ledger([], problems), copies or Copies()
    for run, names in runs.items():
        try:
            if f"seed{run.seed}.json" in names:  # faster than run.record.name
                ledger.records.append(read_record_at(run, copies, metrics=metrics))
        except UserError as error:
            problems.append(str(error))
    return ledger


def read_holders(root: Path, within: Sequence[str] = ()) -> list[Holder]:
    """Who works now on the runs of a ledger, or of this suite, task and encoder of it."""
    runs, _ = list_runs(root, within)
    locked = (holder_of(run) for run, names in runs.items() if f"seed{run.seed}.lock" in names)
    return [holder for holder in locked if holder]


@reader
def read_record(path: Path) -> Record:
    """The record in this file. Raises UserError if it is damaged, of another version, or a link."""
    if not os.path.lexists(path):
        raise UserError(f"{path}: no such file. Give one of a ledger: suite/task/encoder/hash/seed<k>.json.")
    try:
        content = read_json(path, max_bytes=MAX_RECORD_BYTES, follow_links=False)
    except UserError as error:
        raise UserError(f"{error}. Run again with overwrite=true.") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if type(schema) is int and schema != SCHEMA:
        raise UserError(f"{path}: of another version (schema {schema}, this one reads {SCHEMA}). Run again, or update.")
    try:
        check_record(content)
    except UserError as error:
        raise UserError(f"{path}: damaged ({error}). Run again with overwrite=true.") from None
    return content


@reader
def read_outcomes(paths: RunPaths) -> dict[str, np.ndarray]:
    """The per-example outcomes of a record. Raises UserError if they are missing or damaged."""
    with reading(paths.outcomes, "the outcomes of a run", "Run again with overwrite=true."):
        outcomes = _unpack(paths.outcomes)
        check_stored(outcomes)
    return outcomes


def write_record(paths: RunPaths, record: Record, outcomes: Mapping[str, np.ndarray]) -> None:
    """Write outcomes (whole numbers from 0, or booleans; at most 1 MiB compressed), then the record.

    Raises UserError for a record that breaks the schema, for a link and for a full disk; the earlier files are then
    unchanged.
    """
    check_record(record)
    if record["outcomes"] != digest_of(outcomes):
        raise UserError(f"{paths.record}: its outcomes are not those that it was made with. Run it again.")
    paths.refuse_links()
    packed = _pack(paths.outcomes, outcomes)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    with atomic_write(paths.record) as record_file, atomic_write(paths.outcomes) as outcomes_file:
        for file, content in ((record_file, text.encode("utf-8", "backslashreplace")), (outcomes_file, packed)):
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a full disk shows before anything is replaced
        paths.record.unlink(missing_ok=True)  # a kill from here on leaves no record, so that the run is made again


def read_record_at(run: RunPaths, copies: Copies | None = None, *, metrics: Metrics | None = None) -> Record:
    """As `read_record`, and also raises UserError if the record belongs elsewhere, or is a copy of one read before.

    metrics: and if its task is installed and its figures do not follow from its outcomes. If the task is not installed,
    nothing here knows its figures: tables mark them as not checked.
    """
    record = read_record(run.record)
    if (right := RunPaths.of(run.ledger, record)) != run:
        raise UserError(f"{run.record}: belongs at {right.record}. Move it.")
    try:
        if metrics and (metric := metrics(run.task)):
            check_scores(record, run, metric)
        if copies is not None:
            copies.check(record)
    except UserError as error:
        raise UserError(f"{run.record}: {error}") from None
    return record


def check_scores(record: Record, run: RunPaths, metric: Counting) -> None:
    """Raise UserError unless the figures of a record follow from its outcomes by the metric of its task."""
    for key, called, name in (("metric", "main score", metric.main), ("formula", "formula", metric.formula)):
        if (written := record[key]) != name:  # type: ignore[literal-required]
            said = f"record.{key}: {written!r:.60} is not the {called} of {run.task}, which is {name}"
            raise UserError(f"{said}. Run again with overwrite=true, or use the version that made it.")
    outcomes = read_outcomes(run)
    if record["outcomes"] != digest_of(outcomes):
        raise UserError(f"{run.outcomes.name} is not of this record")
    check_figures(outcomes, metric, record["scores"])
    for split in ("dev", "test"):
        items = len(next(iter(of_split(outcomes, split).values())))
        if items != (counted := record["data"]["counts"][split]):  # type: ignore[literal-required]
            raise UserError(f"outcomes on {split}: of {items:,} items; record.data.counts has {counted:,}")


def _unpack(path: Path) -> dict[str, np.ndarray]:
    """Arrays of whole numbers. Raises ValueError, or what numpy raises."""
    if path.is_symlink() or path.stat().st_size > MAX_OUTCOME_BYTES:
        raise ValueError(f"a link, or larger than {MAX_OUTCOME_BYTES:,} bytes")
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
        if sum(entry.file_size for entry in arrays.zip.infolist()) > MAX_UNPACKED_BYTES:
            raise ValueError(f"unpacked, it is larger than {MAX_UNPACKED_BYTES:,} bytes")
        unpacked = dict(arrays)
    if any(array.ndim != 1 or array.dtype.kind not in "bui" for array in unpacked.values()):
        raise ValueError("an array does not have a whole number for each example")
    return unpacked


def _pack(path: Path, outcomes: Mapping[str, np.ndarray]) -> bytes:
    """The arrays, compressed; the same arrays give the same bytes."""
    packed = _compressed(outcomes)
    if len(packed) > MAX_OUTCOME_BYTES:
        raise UserError(f"{path}: outcomes take over {MAX_OUTCOME_BYTES:,} bytes. Keep fewer figures per example.")
    return packed


def packed_size(outcomes: Mapping[str, np.ndarray]) -> int:
    """The bytes of a file of outcomes, of which a record has at most MAX_OUTCOME_BYTES."""
    return len(_compressed(outcomes))


def _compressed(outcomes: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **compact(outcomes))  # type: ignore[arg-type]
    return buffer.getvalue()
