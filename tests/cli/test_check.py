"""`elmo-bench check`: a true record passes, and every way of touching it up shows."""

import json

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths, read_outcomes, read_record, write_record
from tests.ledger.records import changed, hash_of
from tests.reporting.ledgers import add
from tests.runs import run_small


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The paths of a real run that kept its predictions."""
    ledger = tmp_path_factory.mktemp("ledger")
    record = run_small(ledger, "predictions=true", "task.training.epochs=6", encoder="none")
    return RunPaths.of(ledger, record)


@pytest.fixture
def paths(made, tmp_path):
    """A copy of it."""
    record = changed(read_record(made.record), {"environment/commit": "0" * 40, "environment/dirty": False})
    copy = RunPaths.of(tmp_path, record)
    write_record(copy, record, read_outcomes(made))
    copy.work.mkdir()
    for file in made.work.glob("test.predictions.*"):
        (copy.work / file.name).write_bytes(file.read_bytes())
    return copy


def check(path, capsys, *more):
    code = main(["check", str(path), *more])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_a_true_record_passes_and_its_predictions_score_what_it_says(paths, capsys):
    code, said = check(paths.record, capsys)
    score = read_record(paths.record).scores.test.overall["f1"]
    assert code == 0 and "WRONG" not in said
    assert f"predictions on test: score f1 {score:.2f}; the record says {score:.2f}" in said
    assert "elmo-bench run task=ner encoder=none" in said


def test_of_a_ledger_missing_outcomes_and_files_in_no_place_of_a_run_are_listed(paths, capsys):
    assert check(paths.ledger, capsys)[1] == "ok    1 records\n"
    stray = paths.folder / "seed0 (1).json"
    stray.write_bytes(paths.record.read_bytes())
    paths.outcomes.unlink()
    code, said = check(paths.ledger, capsys)
    assert code == 1 and f"WRONG {stray}: not where a run of a ledger is, so no table has it." in said
    assert f"WRONG {paths.record}: {paths.outcomes}: no such file" in said


def test_an_empty_folder_is_no_ledger(tmp_path, refused):
    assert f"{tmp_path}: no run in it. Give the folder of the records" in refused("check", tmp_path)


@pytest.mark.parametrize("formula", ["accuracy", "hits"])
def test_a_formula_that_is_not_the_tasks_is_refused(paths, capsys, formula):
    write_record(paths, changed(read_record(paths.record), {"formula": formula}), read_outcomes(paths))
    code, said = check(paths.record, capsys)
    assert code == 1 and f"record.formula: '{formula}' is not the formula of ner, which is f1-counts" in said


def test_no_setting_of_a_record_forges_a_line(tmp_path, capsys):
    add(tmp_path, "ner", "glove", 0, settings={"task.head.extra": "x\nok    forged"})
    _, said = check(next(tmp_path.rglob("seed0.json")), capsys)
    assert "ok    forged" in said and "\nok    forged" not in said


def test_a_score_that_was_raised_is_found_in_outcomes_and_predictions(paths, capsys):
    record = read_record(paths.record)
    record = changed(record, {"scores/test/overall/f1": record.scores.test.overall["f1"] + 1})
    write_record(paths, record, read_outcomes(paths))
    code, said = check(paths.record, capsys)
    assert code == 1
    assert [line.split(":")[0] for line in said.splitlines() if line.startswith("WRONG")] == [
        "WRONG outcomes on test",
        "WRONG predictions on test",
    ]


def test_outcomes_that_were_touched_up_are_found(paths, capsys):
    outcomes = read_outcomes(paths)
    outcomes["guessed"] = np.maximum(outcomes["guessed"], 1) + outcomes["guessed"]
    np.savez_compressed(paths.outcomes, **outcomes)
    code, said = check(paths.record, capsys)
    assert code == 1 and "ok    predictions" in said
    assert "WRONG seed0.npz is not of this record" in said


def test_changes_that_do_not_follow_from_the_settings_are_named_in_a_ledger_too(paths, capsys):
    """Tables take a record's word for them. Seeds of a run have one line together."""
    record = changed(read_record(paths.record), {"changes": {}})
    for seed in (0, 1):
        curves = {"curves/train_loss": [float(seed)] * 6, "seed": seed, "attempt": f"{seed:032}"}
        record = changed(record, curves)
        write_record(RunPaths.of(paths.ledger, record), record, read_outcomes(paths))
    code, said = check(paths.ledger, capsys)
    line = f"WRONG {paths.record}: record.changes: not what its settings change. Run elmo-bench merge."
    assert code == 1 and said.splitlines() == ["ok    2 records", line]


def test_predictions_that_are_cut_off_hide_no_other_line(paths, capsys):
    _, whole = check(paths.record, capsys)
    [file] = paths.work.glob("test.predictions.*")
    file.write_bytes(file.read_bytes()[:-3])
    code, said = check(paths.record, capsys)
    assert code == 1 and said.splitlines()[:-1] == whole.splitlines()[:-1]
    assert said.splitlines()[-1].startswith(f"WRONG predictions on test: {file}:")


def test_predictions_of_a_task_that_is_not_installed_are_not_checked(store_record, capsys):
    paths = store_record(task="chunking")
    paths.work.mkdir()
    (paths.work / "test.predictions.conll").touch()
    _, said = check(paths.record, capsys)
    assert "\nnot checked: predictions on test: task chunking is not installed here." in said


def test_gold_that_nothing_reads_is_refused(paths, capsys):
    code, said = check(paths.ledger, capsys, "--gold", "gold.conll")
    assert code == 2 and "--gold gold.conll: give one record, not a ledger" in said
    code, said = check(paths.record, capsys, "--gold", "gold.conll")
    assert code == 2 and "nothing reads it: the predictions hold the gold of test. Leave it out." in said
    for file in paths.work.iterdir():
        file.unlink()
    code, said = check(paths.record, capsys, "--gold", "gold.conll")
    assert code == 2 and "nothing reads it: the record kept no predictions on test." in said


def test_a_spec_that_was_changed_no_longer_has_its_hash(paths, capsys):
    record = json.loads(paths.record.read_text(encoding="utf-8"))
    record["spec"]["settings"]["task.training.clip"] = 1.0
    paths.record.write_text(json.dumps(record), encoding="utf-8")
    code, said = check(paths.record, capsys)
    assert code == 1 and said.startswith("WRONG") and "is not the hash of record.spec" in said and said.count("\n") == 1
    record["hash"] = hash_of(record["spec"])
    paths.record.write_text(json.dumps(record), encoding="utf-8")
    code, said = check(paths.record, capsys)
    assert code == 2 and "belongs at" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [("store.mode", "off"), ("ledger", "/tmp/x"), ("--include=/tmp/x", 1), ("task.data.open.fetch.url", "http://a.b"),
     ("encoder.contextual.weights", "user/repo"), ("encoder.contextual.device", "cuda"), ("task.head.a b", 1),
     ("data.train_fraction", "abc"), ("data.train_fraction", True), ("mix.penalty", "x"),
     ("task.head.name.x.y", 1)],
)  # fmt: skip
def test_no_command_is_printed_from_a_setting_that_no_run_has(paths, capsys, key, value):
    record = read_record(paths.record)
    settings = record.spec.settings | {key: value}
    record = changed(record, {"spec/settings": settings, "attempt": "a" * 32})
    copy = RunPaths.of(paths.ledger, record)
    write_record(copy, record, read_outcomes(paths))
    code, said = check(copy.record, capsys)
    assert code == 1 and "made again by" not in said
    assert f"WRONG this installation cannot make it again: no run has {key}={value}" in said
    code, said = check(paths.ledger, capsys)
    assert code == 1 and f"left out, since no run has {key}={value}." in said
