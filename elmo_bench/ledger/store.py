"""Reading and writing the ledger: a file is whole or absent, and a record implies its outcomes."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.ledger.paths import RunPaths, runs_in
from elmo_bench.ledger.record import SCHEMA, Record, check_record, now
from elmo_bench.ledger.schema import check

MAX_OUTCOME_BYTES = 50_000


class Failure(TypedDict):
    """What a failed run leaves behind."""

    schema: int  # SCHEMA
    config: dict[str, Any]  # resolved, as far as it went; what JSON cannot hold stands as text
    traceback: str
    created: str  # UTC


def write_record(paths: RunPaths, record: Record, outcomes: Mapping[str, np.ndarray]) -> None:
    """Write outcomes (whole numbers from 0, or booleans; at most 50,000 bytes compressed), then the record.

    An earlier failure file goes. Raises UserError for a record that breaks the schema and for a full disk; the files
    that stood there before then still stand.
    """
    check_record(record)
    packed = _pack(paths.outcomes, outcomes)
    with atomic_write(paths.record) as record_file:
        record_file.write(_json(record))
        record_file.flush()  # a full disk shows before the outcomes are replaced
        with atomic_write(paths.outcomes) as outcomes_file:
            outcomes_file.write(packed)
    paths.failure.unlink(missing_ok=True)


def read_record(path: Path) -> Record:
    """The record in this file; raises UserError where it is damaged or of a newer version."""
    return _read(path, check_record)


def read_outcomes(paths: RunPaths) -> dict[str, np.ndarray]:
    """The per-example outcomes beside a record; raises UserError where they are missing or damaged."""
    try:
        with paths.outcomes.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            return dict(arrays)
    except Exception as error:  # of damaged bytes zipfile, zlib and numpy make a dozen kinds
        raise UserError(f"{paths.outcomes}: cannot be read ({error}); run again with overwrite=true") from None


def read_ledger(root: Path) -> list[Record]:
    """Every record, sorted by suite, task, encoder, hash and seed; none where there is no such folder."""
    records = []
    for run in runs_in(root):
        if run.record.exists():
            records.append(read_record(run.record))
            if RunPaths.of(root, records[-1]) != run:
                raise UserError(
                    f"{run.record}: says that it belongs at {RunPaths.of(root, records[-1]).record}; move it"
                )
    return records


def write_failure(paths: RunPaths, config: Mapping[str, Any], traceback_text: str) -> None:
    """Leave the traceback and the config of a failed run where its record would have been."""
    plain = json.loads(json.dumps(dict(config), default=str), parse_constant=str)  # a NaN may be why it failed
    failure = Failure(schema=SCHEMA, config=plain, traceback=traceback_text, created=now())
    with atomic_write(paths.failure) as handle:
        handle.write(_json(failure))


def read_failures(root: Path) -> list[tuple[RunPaths, Failure]]:
    """Every failure in the ledger, sorted like the records."""
    return [
        (run, _read(run.failure, lambda content: check(content, Failure, "failure")))
        for run in runs_in(root)
        if run.failure.exists()
    ]


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _read(path: Path, check_content: Any) -> Any:
    try:
        content = json.loads(path.read_bytes())
        schema = content.get("schema") if isinstance(content, dict) else None
        if type(schema) is not int or schema <= SCHEMA:
            check_content(content)
            return content
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (UserError, ValueError) as error:  # ValueError: not UTF-8, or not JSON
        raise UserError(f"{path}: damaged ({error}); remove it or run again with overwrite=true") from None
    raise UserError(f"{path}: of a newer version (schema {schema}, this one reads {SCHEMA}); update elmo-bench")


def _pack(path: Path, outcomes: Mapping[str, np.ndarray]) -> bytes:
    """The arrays in the smallest unsigned type that holds them, compressed; the same arrays give the same bytes."""
    compact = {}
    for name, values in outcomes.items():
        array = np.asarray(values)
        if array.dtype.kind not in "bui" or (array.size and array.min() < 0):
            raise UserError(f"{path}: outcomes '{name}' are not whole numbers from 0; scale and round them first")
        compact[name] = array if array.dtype.kind == "b" else array.astype(np.min_scalar_type(array.max(initial=0)))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **compact)  # type: ignore[arg-type]
    if buffer.tell() > MAX_OUTCOME_BYTES:
        raise UserError(
            f"{path}: outcomes take {buffer.tell():,} bytes of the {MAX_OUTCOME_BYTES:,} allowed; "
            "keep fewer figures per example"
        )
    return buffer.getvalue()
