"""The readers of what this program leaves behind: ledger, cache, parts of an output, text of a training."""

import json
import os
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from elmo_bench.elmo.embed import parts
from elmo_bench.encoders.cache_files import StoreFolder
from elmo_bench.ledger import RunPaths, joined, types_of
from elmo_bench.ledger.costs import read_cost, write_cost
from elmo_bench.ledger.lease import new_lease, read_lease
from elmo_bench.ledger.store import (
    put_failure,
    read_all,
    read_failure,
    read_outcomes,
    read_record,
)
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.masked import pretrain as masked
from elmo_bench.pretraining.resident.encode import encode, read_encoded
from elmo_bench.pretraining.training import COLUMNS, Curve
from tests.fuzz.cases import Case, file_of
from tests.ledger.records import ATTEMPT, OUTCOMES, make_cost, make_record, store_record

MASKED = {"files": ["a"], "heldout": [], "vocabulary": 9, "tokenizer_lines": 1, "width": 4}
CURVE = ",".join(COLUMNS) + "\n" + "".join(f"{n},1,2,3,4\n" for n in range(9))
LEDGER = "elmo_bench.ledger.store"


def state_cases() -> list[Case]:
    """One for each file."""
    return [
        Case(
            reader=f"{LEDGER}:read_record",
            make=lambda folder: store_record(folder / "runs"),
            damaged="seed0.json",
            read=lambda folder: read_record(_paths(folder).record),
        ),
        Case(
            reader=f"{LEDGER}:read_outcomes",
            make=lambda folder: store_record(folder / "runs"),
            damaged="seed0.npz",
            read=lambda folder: read_outcomes(_paths(folder)),
        ),
        Case(
            reader="elmo_bench.ledger.outcomes:check_stored",
            make=_typed,
            damaged="seed0.npz",
            read=lambda folder: types_of(read_outcomes(_paths(folder)), "test"),
        ),
        Case(reader=f"{LEDGER}:read_failure", make=_failure, read=lambda folder: read_failure(_paths(folder).failure)),
        Case(reader=f"{LEDGER}:read_all", make=_ledger, read=lambda folder: read_all(folder / "runs")),
        Case(
            reader="elmo_bench.ledger.index:Index.entries",
            make=_indexed,
            damaged="*.sqlite",
            read=_read_indexed,
            wrong=lambda found: None if len(found.records) == 1 else "the record is lost",
        ),
        Case(
            reader="elmo_bench.ledger.costs:read_cost",
            make=lambda folder: write_cost(folder, make_cost()),
            read=lambda folder: [read_cost(path) for path in folder.glob("*/*.json")],
        ),
        Case(
            reader="elmo_bench.ledger.lease:read_lease",
            make=_lease,
            read=lambda folder: read_lease(folder / "seed0.lease"),
        ),
        Case(reader="elmo_bench.encoders.cache_files:StoreFolder.entries", make=_fill, read=_entries),
        Case(
            reader="elmo_bench.pretraining.masked.pretrain:read_text",
            make=_masked,
            read=lambda folder: masked.read_text(folder / "text.safetensors", MASKED),
        ),
        Case(
            reader="elmo_bench.pretraining.resident.encode:read_encoded",
            make=_encoded,
            damaged="*.npy",
            read=read_encoded,
        ),
        Case(
            reader="elmo_bench.pretraining.training:Curve.resume",
            make=file_of("curve.csv", CURVE),
            read=lambda folder: Curve(folder / "curve.csv", COLUMNS).resume(5),
        ),
        Case(reader="elmo_bench.elmo.embed.parts:read_part", make=_part, damaged="0*.json", read=_read_parts),
        Case(reader="elmo_bench.elmo.embed.parts:read_settings", make=_part, damaged="settings.json", read=_read_parts),
    ]


def _paths(folder: Path) -> RunPaths:
    return RunPaths.of(folder / "runs", make_record())


def _typed(folder: Path) -> None:
    """Outcomes with counts by type, not compressed, so that damage reaches them."""
    paths = store_record(folder / "runs")
    types = {"type:A.gold": np.array([1, 0, 2]), "type:B.gold": np.array([0, 0, 300])}
    np.savez(paths.outcomes, **joined({"dev": {}, "test": OUTCOMES | types}))  # type: ignore[arg-type]


def _failure(folder: Path) -> None:
    record: Any = make_record()
    failure: Any = {key: record[key] for key in ("schema", "attempt", "spec", "seed", "created")}
    put_failure(_paths(folder), {**failure, "error": "x", "user_error": True, "traceback": "y"})


def _lease(folder: Path) -> None:
    lease = new_lease(attempt=ATTEMPT, spec=make_record()["spec"], seed=0)
    (folder / "seed0.lease").write_text(json.dumps(lease))


def _ledger(folder: Path) -> None:
    store_record(folder / "runs")
    _failure(folder)


def _indexed(folder: Path) -> None:
    paths = store_record(folder / "runs")
    os.utime(paths.record, (0, 0))  # a new file is not indexed
    _read_indexed(folder)


def _read_indexed(folder: Path) -> Any:
    with patch.dict(os.environ, ELMO_BENCH_CACHE=str(folder / "cache")):
        name = blake2b(os.fsencode(os.path.realpath(folder / "runs")), digest_size=8).hexdigest()
        for path in (folder / "cache" / "ledgers").glob("*.sqlite"):  # it is named by the ledger's folder
            path.rename(path.with_stem(name))
        return read_all(folder / "runs")


def _store(folder: Path) -> StoreFolder:
    return StoreFolder(folder, "own", layers=2, dim=3, max_bytes=1e9)


def _keys() -> list[bytes]:
    return [bytes([number]) * 16 for number in range(4)]


def _fill(folder: Path) -> None:
    layers = [np.random.default_rng(n).normal(size=(2, n, 3)).astype(np.float32) for n in range(4)]
    found = _store(folder).add(_keys(), layers)
    next(iter(found.values())).path.rename(folder / "own" / "0.safetensors")


def _entries(folder: Path) -> Any:
    found = dict(_store(folder).entries(_keys(), set()))
    return [layers for entry in found.values() if (layers := entry.read()) is not None]


def _masked(folder: Path) -> None:
    from safetensors.numpy import save_file

    about = {**MASKED, "sentences": 1, "words": 2, "pieces": 3}
    rows = np.zeros((5, 4), np.int16)
    save_file({"both": rows, "alone": rows + 1}, folder / "text.safetensors", {"about": json.dumps(about)})


def _encoded(folder: Path) -> None:
    (folder / "in.txt").write_text("the old cats sleep .\nvery old dogs bark .\n")
    encode(Corpus((folder / "in.txt",)), None, folder, words=5, threads=1)
    (folder / "in.txt").unlink()


def _part(folder: Path) -> None:
    part = parts.Part(first=0, lengths=[2, 0], texts=["a b", ""], fingerprint="f" * 64, bytes=80)
    (folder / "00000.json").write_text(json.dumps(vars(part)))
    (folder / "settings.json").write_text(json.dumps({"mode": "all", "batch-size": None}))
    (folder / "data").mkdir()
    (folder / "data" / "00000.f32").write_bytes(bytes(80))


def _read_parts(folder: Path) -> Any:
    with parts.open_parts(folder, {"mode": "all", "batch-size": None}, suffix=".f32", overwrite=False) as found:
        return list(found)
