"""The record: documented, and checked both ways."""

import inspect
import math
import typing

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import (
    RunPaths,
    check_record,
    read_all,
    read_ledger,
    read_outcomes,
    read_progress,
    read_record,
    record,
    write_failure,
    write_record,
)
from tests.ledger.records import ATTEMPT, OUTCOMES

TABLES = [thing for thing in vars(record).values() if typing.is_typeddict(thing)]


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_every_key_is_documented_and_present(make_record):
    """A comment on the line of each key, but where its type is a table of its own."""
    for table in TABLES:
        assert table.__doc__
        lines = [line.strip() for line in inspect.getsource(table).splitlines()]
        for key, hint in table.__annotations__.items():
            [line] = [line for line in lines if line.startswith(f"{key}:")]
            assert "  # " in line or typing.is_typeddict(hint), f"{table.__name__}.{key}"
    for table, holder in ((record.Record, make_record()), (record.Environment, make_record()["environment"])):
        assert holder.keys() == table.__required_keys__


def test_round_trip(make_record, tmp_path):
    written = make_record()
    paths = RunPaths.of(tmp_path, written)
    write_record(paths, written, OUTCOMES)
    assert read_record(paths.record) == written
    assert read_ledger(tmp_path) == ([written], [])
    outcomes = read_outcomes(paths)
    assert outcomes["correct"].tolist() == [True, False, True]
    assert outcomes["guessed"].tolist() == [0, 3, 255]
    assert outcomes["guessed"].dtype == np.uint8
    assert files(tmp_path) == ["seed0.json", "seed0.npz"]


@pytest.mark.parametrize("key", sorted(record.Record.__required_keys__))
def test_a_missing_key_is_named(make_record, key):
    broken = make_record()
    del broken[key]
    with pytest.raises(UserError, match=key):
        check_record(broken)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 1}, r"record.schema: 1, but this version of elmo-bench reads 3"),
        ({"attempt": "latest"}, r"record.attempt: 'latest' is not 32 hex digits"),
        ({"extra": 1}, r"record: unknown key extra"),
        ({"seed": "0"}, r"record.seed: '0' is not a whole number"),
        ({"metric": "accuracy"}, r"record.scores.dev.overall: accuracy missing"),
        ({"scores": {"dev": {"overall": {"f1": math.nan}}, "test": {"overall": {"f1": 1}}}}, r"dev.overall.f1: nan"),
        ({"hash": "0" * 12}, r"record.hash: 000000000000 is not the hash"),
        ({"epochs": {"run": 3, "best": 4}}, r"record.epochs.best: 4"),
        ({"curves": {"dev": [1.0], "steps": [7, 7.5]}}, r"record.curves.steps\[1\]: 7.5 is not a whole number"),
        ({"created": "yesterday"}, r"record.created: 'yesterday'"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(make_record, tmp_path, change, said):
    broken = make_record() | change
    with pytest.raises(UserError, match=said):
        write_record(RunPaths.of(tmp_path, make_record()), broken, OUTCOMES)
    assert files(tmp_path) == []


def failed(error):
    try:
        raise error
    except Exception as raised:
        return raised


@pytest.mark.parametrize(
    ("error", "line", "user_error"),
    [
        (ValueError("no\nmore"), "ValueError: no", False),
        (KeyError(), "KeyError", False),
        (UserError("file: wrong"), "file: wrong", True),
    ],
)
def test_a_failure_holds_spec_and_traceback_until_a_success(make_record, tmp_path, error, line, user_error):
    written = make_record()
    paths = RunPaths.of(tmp_path, written)
    spec = written["spec"] | {"settings": {"rate": math.nan, "where": tmp_path}, "contents": None}
    write_failure(paths, failed(error), attempt=ATTEMPT, spec=spec)
    _, [(run, failure)], problems = read_all(tmp_path)
    assert (run, problems) == (paths, [])
    assert failure["spec"] == spec | {"settings": {"rate": "NaN", "where": str(tmp_path)}}
    assert (failure["attempt"], failure["seed"]) == (ATTEMPT, 0)
    assert (failure["error"], failure["user_error"]) == (line, user_error)
    assert failure["traceback"].startswith("Traceback (most recent call last)")
    assert read_ledger(tmp_path) == ([], [])
    write_record(paths, written, OUTCOMES)
    assert read_all(tmp_path) == ([written], [], [])


def test_a_summary_is_the_part_of_the_record_that_status_uses(make_record, tmp_path):
    """Damage elsewhere in the file is found by the full check alone."""
    record = make_record()
    paths = RunPaths.of(tmp_path, record)
    write_record(paths, record, OUTCOMES)
    [summary] = read_progress(tmp_path).summaries
    assert summary["spec"] == record["spec"]
    assert summary["scores"]["test"] == record["scores"]["test"]
    assert summary["curves"] == {"dev": [55.0, 60.0, 59.0]}
    assert (summary["seconds"], summary["peak_memory_mib"], summary["device"]) == (90.0, 512.5, "cpu")
    text = paths.record.read_text(encoding="utf-8")
    paths.record.write_text(text.replace('"train_loss"', '"trainloss"'), encoding="utf-8")
    assert read_progress(tmp_path) == ([summary], [], [], [])
    assert "unknown key trainloss" in read_all(tmp_path).problems[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"schema": 3', '"schema": 2', "of an older version (schema 2, this one reads 3). Remove it and run again."),
        ('"schema": 3', '"schema": 4', "of a newer version (schema 4, this one reads 3). Update elmo-bench."),
        ('"seed": 0', '"seed": 1', "seed1.json. Move it."),
        ('"seconds": 90.0', '"seconds": "90"', "record.cost.seconds: '90' is not a finite number"),
        ('"f1": 50.0', '"f2": 50.0', "record.scores.test.overall: f1 missing"),
        ("}\n", "", "cut off in the middle"),
    ],
)
def test_a_file_that_is_no_record_is_named_by_both_ways_of_reading(store_record, tmp_path, old, new, said):
    path = store_record().record
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new) if new else text[: -len(old)], encoding="utf-8")
    for ledger in (read_all(tmp_path / "runs"), read_progress(tmp_path / "runs")):
        assert not ledger[0]
        [problem] = ledger.problems
        assert said in problem
