"""The record: documented, and checked both ways."""

import errno
import inspect
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import (
    SCHEMA,
    RunPaths,
    digest_of,
    read_all,
    read_outcomes,
    read_record,
    record,
    record_of,
    store,
    write_record,
)
from elmo_bench.ledger.checks import check_record
from tests.ledger.records import OUTCOMES, changed
from tests.runs import files

TABLES = [thing for thing in vars(record).values() if inspect.isclass(thing) and thing.__module__ == record.__name__]

MIX = {"weights": [0.5, 0.5], "gamma": 1.0, "norms": [1.0, 1.0]}
ONE = {"weights": [1.0], "gamma": 1.0, "norms": [1.0]}
NO_NORMS = {"weights": [1.0], "gamma": 1.0}
DATA = {"notes": [], "checks": {}}


def test_every_key_is_documented_and_present(make_record):
    """A comment on the line of each key or before it, but where its type is a table of its own."""
    for table in TABLES:
        assert table.__doc__
        lines = [line.strip() for line in inspect.getsource(table).splitlines()]
        for key, field in table.model_fields.items():
            [number] = [number for number, line in enumerate(lines) if line.startswith(f"{key}:")]
            is_commented = "  # " in lines[number] or lines[number - 1].startswith("# ")
            assert is_commented or field.annotation in TABLES, f"{table.__name__}.{key}"
    made = make_record()
    for table, holder in ((record.Record, made), (record.Environment, made.environment)):
        assert holder.model_fields_set == {key for key, field in table.model_fields.items() if field.is_required()}


def test_round_trip(make_record, tmp_path):
    written = make_record()
    paths = RunPaths.of(tmp_path, written)
    write_record(paths, written, OUTCOMES)
    assert read_record(paths.record) == written
    assert read_all(tmp_path) == ([written], [])
    outcomes = read_outcomes(paths)
    assert outcomes["correct"].tolist() == [True, False, True]
    assert outcomes["guessed"].tolist() == [0, 3, 255]
    assert outcomes["guessed"].dtype == np.uint8
    assert files(paths.folder) == ["seed0.json", "seed0.npz"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 1}, r"record.schema: 1 should be 3"),
        ({"attempt": "latest"}, r"record.attempt: 'latest' String should match pattern"),
        ({"extra": 1}, r"record: unknown key extra"),
        ({"seed": "0"}, r"record.seed: '0' should be a valid integer"),
        ({"metric": "accuracy"}, r"record.scores.dev.overall: accuracy missing"),
        ({"scores": {"dev": {"overall": {"f1": math.nan}}, "test": {"overall": {"f1": 1}}}}, r"dev.overall.f1: nan"),
        ({"hash": "0" * 12}, r"record.hash: 000000000000 is not the hash"),
        ({"epochs": {"run": 3, "best": 4}}, r"record.epochs.best: 4"),
        ({"epochs": {"run": 3, "best": 3}}, r"record.epochs.best: 3, with dev f1 59.00; the best .* is 60.00"),
        ({"curves": {"dev": [55.0, 99.0, 59.0], "steps": [1] * 3}}, r"epochs.best: 2, .* the score of dev 60.00"),
        ({"curves": {"dev": [55.0, 60.0, 120.0], "steps": [1] * 3}}, r"record.curves.dev\[2\]: 120.0 should be less"),
        ({"scores": {"dev": {"overall": {"f1": 60.0}}, "test": {"overall": {"f1": 120.0}}}}, r"120.0 is not between"),
        ({"layer_weights": [{"=1+1": ONE}]}, r"weights\[0\].=1\+1.* match pattern"),
        ({"layer_weights": [{"input": MIX | {"weights": []}}] * 3}, r"input.weights: \[\] List should have"),
        ({"layer_weights": [{"input": MIX | {"weights": [0.0] * 1001}}] * 3}, r"input.weights: .*at most 1000 items"),
        ({"layer_weights": [{"input": MIX | {"norms": [0.0] * 1001}}] * 3}, r"input.norms: .*at most 1000 items"),
        ({"layer_weights": [{"input": NO_NORMS}] * 3}, r"layer_weights\[0\].input: norms missing"),
        ({"layer_weights": [{"input": MIX}, {"input": ONE}]}, "the epochs, or weights and norms"),
        ({"layer_weights": [{"input": MIX}, {"output": MIX}]}, "the epochs, or weights and norms"),
        ({"layer_weights": [{"input": MIX | {"norms": [1.0]}}] * 2}, "the epochs, or weights and norms"),
        ({"curves": {"dev": [55.0, 60.0, 59.0], "steps": [1, 0, 1]}}, r"record.curves.steps\[1\]: 0 should be greater"),
        ({"curves": {"dev": [55.0, 60.0, 59.0], "steps": [1, 2**60, 1]}}, r"record.curves.steps\[1\]: .* less"),
        ({"curves": {"dev": [55.0, 60.0, 59.0], "steps": [1, 1]}}, r"record.curves.steps: 2 numbers of 3 epochs"),
        ({"curves": {"dev": [55.0, 60.0, 59.0], "steps": [1] * 3, "train_loss": [1.0]}}, r"curves.train_loss: 1"),
        ({"parameters": {"trainable": -1, "frozen": 0}}, r"record.parameters.trainable: -1 should be greater"),
        ({"created": "2999-01-01T00:00:00+00:00"}, r"record.created: 2999-.* is in the future"),
        ({"curves": {"dev": [1.0], "steps": [7, 7.5]}}, r"record.curves.steps\[1\]: 7.5 should be a valid integer"),
        ({"created": "yesterday"}, r"record.created: 'yesterday'"),
        ({"corrected": {"scores": "higher"}}, r"record.corrected.scores: only cost, environment can be corrected"),
        ({"data": DATA | {"counts": {"train": 0, "dev": 10, "test": 10}}}, r"data.counts.train: 0 should be greater"),
        ({"corrected": "cost"}, r"record.corrected: 'cost' should be a valid dictionary"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(make_record, tmp_path, change, said):
    paths = RunPaths.of(tmp_path, make_record())
    with pytest.raises(UserError, match=said):
        write_record(paths, record_of(make_record().to_json() | change), OUTCOMES)
    assert files(tmp_path) == []


@pytest.mark.parametrize("kill", [0, 1])
def test_a_killed_overwrite_leaves_the_old_run_or_none(make_record, tmp_path, monkeypatch, kill):
    """Without a record a sweep makes the run again. `kill`: at which of the two replacements of a file."""
    paths = RunPaths.of(tmp_path, old := make_record())
    write_record(paths, old, OUTCOMES)
    outcomes = {"correct": np.array([0, 0, 1])}
    replace, replaced = Path.replace, []

    def killed(path, target):
        if len(replaced) == kill:
            raise KeyboardInterrupt
        replaced.append(target)
        return replace(path, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", killed)
        write_record(paths, make_record(test=1.0, outcomes=digest_of(outcomes)), outcomes)
    assert not paths.record.exists()
    assert digest_of(read_outcomes(paths)) == digest_of(outcomes if kill else OUTCOMES)


def test_a_record_under_the_name_of_another_seed_is_told_where_it_belongs(store_record, tmp_path):
    paths = store_record()
    other = RunPaths(paths.ledger, paths.suite, paths.task, paths.encoder, paths.hash, 1)
    paths.record.rename(other.record)
    paths.outcomes.rename(other.outcomes)
    assert read_all(tmp_path / "runs") == ([], [f"{other.record}: belongs at {paths.record}. Move it."])


def test_a_record_of_another_version_is_told_apart_from_a_damaged_one(store_record):
    paths = store_record()
    content = json.loads(paths.record.read_text(encoding="utf-8")) | {"schema": SCHEMA + 1}
    paths.record.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_record(paths.record)
    reads = f"of another version (schema {SCHEMA + 1}, this one reads {SCHEMA})"
    assert str(error.value) == f"{paths.record}: {reads}. Update, or run again with overwrite=true."


def test_outcomes_over_the_limit_are_not_written(store_record, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MAX_PACKED_BYTES", 100)
    with pytest.raises(UserError, match=r"seed0.npz: outcomes take over 100 bytes. Keep fewer figures per example"):
        store_record()
    assert files(tmp_path) == []


def test_a_failure_of_an_older_version_is_no_run(make_record, tmp_path):
    paths = RunPaths.of(tmp_path, written := make_record())
    write_record(paths, written, OUTCOMES)
    for name in ("seed0.failed.json", "seed1.failed.json"):
        (paths.folder / name).write_text("{}", encoding="utf-8")
    assert read_all(tmp_path) == ([written], [])


def test_a_full_disk_at_an_overwrite_leaves_the_old_run(make_record, tmp_path, monkeypatch):
    paths = RunPaths.of(tmp_path, old := make_record())
    write_record(paths, old, OUTCOMES)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch, pytest.raises(UserError, match="No space left"):
        patch.setattr(os, "fsync", full)
        write_record(paths, make_record(test=1.0), OUTCOMES)
    assert read_record(paths.record) == old
    assert digest_of(read_outcomes(paths)) == old.outcomes


def test_a_record_without_contents_is_none(make_record):
    made = changed(make_record(), {"spec/contents": None})
    with pytest.raises(UserError, match=r"^record\.spec\.contents: null\. Give the digests"):
        check_record(made)
