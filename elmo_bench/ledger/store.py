"""Reading and writing the ledger: a file is written atomically, and a record implies
its outcomes."""

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
from elmo_bench.ledger.archives import MAX_PACKED_BYTES, compact, read_arrays
from elmo_bench.ledger.checks import Copies, check_record, record_of
from elmo_bench.ledger.locks import Holder, holder_of
from elmo_bench.ledger.outcomes import (
    check_figures,
    check_stored,
    digest_of,
    of_split,
)
from elmo_bench.ledger.paths import RunPaths, list_runs
from elmo_bench.ledger.record import (
    SCHEMA,
    SCORED,
    Record,
)

MAX_RECORD_BYTES = 2**24
AGAIN = "Run again with overwrite=true."

# By task and name of the main score; None if the task is not installed
# (`spec.names.metric_of`).
Metrics = Callable[[str, str], Counting | None]
# Is given the outcomes of a run.
Keep = Callable[[RunPaths, Mapping[str, np.ndarray]], None]


class Ledger(NamedTuple):
    """The contents of a ledger. A problem is one line about a file that was skipped."""

    records: list[Record]
    problems: list[str]


@reader
def read_all(
    root: Path,
    within: Sequence[str] = (),
    *,
    metrics: Metrics | None = None,
    copies: Copies | None = None,
    keep: Keep | None = None,
) -> Ledger:
    """Every record of a ledger, each read once and checked in full.

    within: only of this suite, task and encoder. They are sorted by suite, task,
    encoder, hash and seed. A missing folder has no records. A file that is damaged, of
    another version, at the wrong path, a copy of another run or a link is skipped and
    named in `problems`.
    metrics: so is a record whose scores do not follow from its outcomes
    (`read_record_at`); takes milliseconds for each. Whoever shows scores gives them.
    copies: gets to know all records.
    keep: gets the outcomes of each record whose scores follow from them.
    """
    runs, problems = list_runs(root, within)
    return read_listed(runs, problems, metrics=metrics, copies=copies, keep=keep)


def read_listed(
    runs: Mapping[RunPaths, set[str]],
    problems: Sequence[str],
    *,
    metrics: Metrics | None = None,
    copies: Copies | None = None,
    keep: Keep | None = None,
) -> Ledger:
    """As `read_all`, of what `list_runs` has listed."""
    if metrics is not None:
        metrics = cache(metrics)
    if copies is None:
        copies = Copies()
    ledger = Ledger([], list(problems))
    for run, names in runs.items():
        if f"seed{run.seed}.json" not in names:  # faster than run.record.name
            continue
        try:
            record = read_record_at(run, copies, metrics=metrics, keep=keep)
        except UserError as error:
            ledger.problems.append(str(error))
        else:
            ledger.records.append(record)
    return ledger


def holders_of(runs: Mapping[RunPaths, set[str]]) -> list[Holder]:
    """Who works now on the runs that `list_runs` has listed."""
    holders = []
    for run, names in runs.items():
        if f"seed{run.seed}.lock" in names:
            holder = holder_of(run)
            if holder is not None:
                holders.append(holder)
    return holders


@reader
def read_record(path: Path) -> Record:
    """The record in this file.

    Raises UserError if it is damaged, of another version, or a link.
    """
    if not os.path.lexists(path):
        raise UserError(
            f"{path}: no such file. "
            "Give one of a ledger: suite/task/encoder/hash/seed<k>.json."
        )
    try:
        content = read_json(path, max_bytes=MAX_RECORD_BYTES, follow_links=False)
    except UserError as error:
        raise UserError(f"{error}. {AGAIN}") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if type(schema) is int and schema != SCHEMA:
        raise UserError(
            f"{path}: of another version (schema {schema}, this one reads {SCHEMA}). "
            "Update, or run again with overwrite=true."
        )
    try:
        return record_of(content)
    except UserError as error:
        raise UserError(f"{path}: damaged ({error}). {AGAIN}") from None


@reader
def read_outcomes(paths: RunPaths) -> dict[str, np.ndarray]:
    """The outcomes of a record. Raises UserError if they are missing or damaged."""
    with reading(paths.outcomes, "the outcomes of a run", AGAIN):
        outcomes = read_arrays(paths.outcomes, AGAIN)
        check_stored(outcomes)
    return outcomes


def write_record(
    paths: RunPaths, record: Record, outcomes: Mapping[str, np.ndarray]
) -> None:
    """Write outcomes (whole numbers from 0, or booleans), then the record.

    Raises UserError for a record that does not agree with itself, for outcomes of more
    than MAX_PACKED_BYTES when compressed, for a link and for a full disk; the earlier
    files are then unchanged.
    """
    check_record(record)
    if record.outcomes != digest_of(outcomes):
        raise UserError(
            f"{paths.record}: its outcomes are not the ones that it was made with. "
            "Run it again."
        )
    paths.refuse_links()
    packed = _pack(paths.outcomes, outcomes)
    with (
        atomic_write(paths.record) as record_file,
        atomic_write(paths.outcomes) as outcomes_file,
    ):
        for file, content in ((record_file, _text(record)), (outcomes_file, packed)):
            file.write(content)
            file.flush()
            # A full disk shows before anything is replaced.
            os.fsync(file.fileno())
        # A kill from here on leaves no record, so that the run is made again.
        paths.record.unlink(missing_ok=True)


def rewrite_record(paths: RunPaths, record: Record) -> None:
    """Replace a record by one with the same outcomes, atomically. Raises UserError."""
    check_record(record)
    paths.refuse_links()
    with atomic_write(paths.record) as file:
        file.write(_text(record))


def _text(record: Record) -> bytes:
    """The content of a record's file; the same record gives the same bytes."""
    text = json.dumps(record.to_json(), indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def read_record_at(
    run: RunPaths,
    copies: Copies | None = None,
    *,
    metrics: Metrics | None = None,
    keep: Keep | None = None,
) -> Record:
    """As `read_record`, and also raises UserError if the record belongs elsewhere, or
    is a copy of one read before.

    metrics: and if its task is installed and its figures do not follow from its
    outcomes, which `keep` gets. If the task is not installed, nothing here knows its
    figures: tables mark them as not checked.
    """
    record = read_record(run.record)
    spec = record.spec
    address = (spec.suite, spec.task, spec.encoder, record.hash, record.seed)
    if address != (run.suite, run.task, run.encoder, run.hash, run.seed):
        right = RunPaths.of(run.ledger, record)
        raise UserError(f"{run.record}: belongs at {right.record}. Move it.")
    try:
        metric = None
        if metrics is not None:
            metric = metrics(run.task, record.metric)
        outcomes = None if metric is None else check_scores(record, run, metric)
        if copies is not None:
            copies.check(record)
    except UserError as error:
        raise UserError(f"{run.record}: {error}") from None
    if keep is not None and outcomes is not None:
        keep(run, outcomes)
    return record


def check_scores(
    record: Record, run: RunPaths, metric: Counting
) -> dict[str, np.ndarray]:
    """The outcomes of a record, from which its figures follow by the metric of its
    task. Raises UserError if they do not."""
    _check_name(run, "metric", "main score", record.metric, metric.main)
    _check_name(run, "formula", "formula", record.formula, metric.formula)
    outcomes = read_outcomes(run)
    if record.outcomes != digest_of(outcomes):
        raise UserError(f"{run.outcomes.name} is not of this record")
    check_figures(outcomes, metric, record.scores)
    for split in SCORED:
        items = len(next(iter(of_split(outcomes, split).values())))
        count = record.data.counts.of(split)
        if items != count:
            raise UserError(
                f"outcomes on {split}: of {items:,} items; "
                f"record.data.counts has {count:,}"
            )
    return outcomes


def _check_name(run: RunPaths, key: str, what: str, name: str, right: str) -> None:
    if name != right:
        raise UserError(
            f"record.{key}: {name!r:.60} is not the {what} of {run.task}, which is "
            f"{right}. {AGAIN[:-1]}, or use the version that made it."
        )


def _pack(path: Path, outcomes: Mapping[str, np.ndarray]) -> bytes:
    """The arrays, compressed; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **compact(outcomes))  # type: ignore[arg-type]
    if buffer.tell() > MAX_PACKED_BYTES:
        raise UserError(
            f"{path}: outcomes take over {MAX_PACKED_BYTES:,} bytes. "
            "Keep fewer figures per example."
        )
    return buffer.getvalue()
