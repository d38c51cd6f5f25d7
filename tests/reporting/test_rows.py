"""From records to rows: seeds together, newest contents current, and the baseline of a row."""

import json

import pytest

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths, read_all, write_record
from elmo_bench.reporting.console import overviews
from elmo_bench.reporting.gains import over_baseline
from elmo_bench.reporting.rows import select
from tests.ledger.records import OUTCOMES
from tests.reporting.ledgers import add, fill


@pytest.fixture
def rows(tmp_path):
    """`rows() -> current rows` of what was added to `tmp_path`."""
    return lambda **options: select(read_all(tmp_path).records, **options).rows


def test_the_seeds_of_a_run_are_a_row_and_the_best_row_comes_first(tmp_path, rows):
    fill(tmp_path, "ner", "elmo", seeds=2)
    fill(tmp_path, "ner", "elmo", seeds=2, place="both", lift=0.1)
    assert [(row.label, row.seeds) for row in rows()] == [("elmo, place=both", [0, 1]), ("elmo", [0, 1])]


def test_the_newest_contents_are_current(tmp_path):
    old = [add(tmp_path, "ner", "elmo", k, weights="w1", created=f"2026-01-0{k + 1}T00:00:00+00:00") for k in (0, 1)]
    new = add(tmp_path, "ner", "elmo", 0, weights="w2", created="2026-01-03T00:00:00+00:00")
    records = read_all(tmp_path).records
    chosen = select(records)
    assert [row.records for row in chosen.rows] == [(new,)]
    [superseded] = chosen.superseded
    assert [row.newest["hash"] for row in superseded] == [old[0]["hash"], new["hash"]]
    assert superseded[0].seeds == [0, 1]


@pytest.mark.parametrize(
    ("options", "label", "changed"),
    [
        ({}, "elmo", ({}, ())),
        ({"mix": "last"}, "elmo, mix=last", ({"mix": "last"}, ())),
        ({"penalty": 0.0015625}, "elmo", ({}, ())),  # the task's λ
        ({"penalty": 1.0}, "elmo, mix.penalty=1", ({"mix.penalty": "1"}, ())),
        ({"train_fraction": 0.1}, "elmo", ({}, ("data.train_fraction", "data.least_steps"))),
        ({"max_train": 50}, "elmo", ({}, ("data.max_train",))),
        ({"settings": {"task.data.open.c": None}}, "elmo, task.data.open.c=null", ({"task.data.open.c": "null"}, ())),
    ],
)
def test_what_a_row_changes(tmp_path, rows, options, label, changed):
    add(tmp_path, "ner", "elmo", 0, **options)
    [row] = rows()
    assert (row.label, row.encoder) == (label, "elmo")
    assert (row.variation, tuple(option for option, _ in row.basis.fraction)) == changed


def test_the_baseline_has_the_same_changes_as_far_as_they_concern_it(tmp_path, rows):
    few, long = {"train_fraction": 0.1}, {"settings": {"task.training.epochs": 50}}
    for encoder, options in (("glove", {}), ("glove", few), *(("elmo", o) for o in ({}, few, {"mix": "last"}, long))):
        add(tmp_path, "ner", encoder, 0, **options)
    add(tmp_path, "sst5", "elmo", 0)
    assert {
        (row.spec.task, row.label, row.train): baseline and (baseline.label, baseline.train)
        for row, baseline in over_baseline(rows())
    } == {
        ("ner", "elmo", 3394): ("glove", 3394),
        ("ner", "elmo", 339): ("glove", 339),
        ("ner", "elmo, mix=last", 3394): ("glove", 3394),
        ("ner", "elmo, task.training.epochs=50", 3394): None,  # glove was not trained for so long
        ("ner", "glove", 3394): None,
        ("ner", "glove", 339): None,
        ("sst5", "elmo", 93567): None,
    }


def from_folder(ledger, encoder, place, seed=0, task="ner", **options):
    """A run as `add`, of weights in this folder."""
    record = add(ledger, task, encoder, seed, weights=place, **options)
    record["environment"]["source"] = place
    RunPaths.of(ledger, record).record.write_text(json.dumps(record), encoding="utf-8")


def test_two_encoders_whose_paths_end_alike_are_two_rows(tmp_path, rows, capsys):
    for place in ("runs/first/mybert", "runs/second/mybert"):
        for seed in (0, 1):
            from_folder(tmp_path, "mybert", place, seed)
    assert {(row.label, len(row.seeds)) for row in rows()} == {("first/mybert", 2), ("second/mybert", 2)}
    assert {*elmo_bench.results(tmp_path).encoder} == {"first/mybert", "second/mybert"}
    assert main(["compare", "first/mybert", "second/mybert", "--ledger", str(tmp_path)]) == 0
    assert "test scores of first/mybert minus second/mybert" in capsys.readouterr().out
    from_folder(tmp_path, "elmo", "a/weights.hdf5")
    from_folder(tmp_path, "elmo", "b/weights.hdf5")
    assert {row.label for row in rows() if row.spec.encoder == "elmo"} == {
        "elmo (a/weights.hdf5)",
        "elmo (b/weights.hdf5)",
    }


def test_one_folder_by_two_paths_is_named_by_the_whole_path(tmp_path, rows):
    from_folder(tmp_path, "mybert", "models/mybert")
    from_folder(tmp_path, "mybert", "mine/models/mybert", task="snli")
    assert {row.label for row in rows()} == {"models/mybert", "mine/models/mybert"}


def test_newer_weights_of_one_folder_replace_older_ones(tmp_path, rows):
    from_folder(tmp_path, "mybert", "runs/mybert", created="2026-01-01T00:00:00+00:00")
    add(tmp_path, "ner", "mybert", 0, weights="as a record of an earlier version", created="2026-01-02T00:00:00+00:00")
    assert [row.label for row in rows()] == ["mybert"]


def test_two_files_of_one_name_are_named(tmp_path):
    """A run knows the name of its file and the digest of its examples: a newer version, or another file."""
    run = (tmp_path, "classification", "glove", 0)
    old, new = (add(*run, suite="reviews", data=n, created=f"2026-01-0{n}T00:00:00+00:00") for n in (1, 2))
    selection = select([old, new])
    assert [row.newest for row in selection.rows] == [new]
    [line] = selection.notes
    assert line.startswith("classification on suite reviews: runs on an earlier file of this name are left out. If it")
    assert line.endswith("suite.name=NAME.")
    [_, note] = overviews([old, new])
    assert note == line


@pytest.mark.usefixtures("undrawn")
def test_runs_of_a_task_that_is_not_included_are_named(tmp_path, capsys, make_record):
    add(tmp_path, "ner", "glove", 0)
    record = make_record(task="mine")
    write_record(RunPaths.of(tmp_path, record), record, OUTCOMES)
    selection = select(read_all(tmp_path).records)
    assert [row.spec.task for row in selection.rows] == ["ner"]
    [line] = selection.unknown
    assert line.startswith("task mine, encoder ") and line.endswith("Give its folder: --include FOLDER.")
    for command in (["report", "--out", str(tmp_path / "out")], ["compare", "glove", "elmo"]):
        main([*command, "--ledger", str(tmp_path)])
        assert line in capsys.readouterr().err


def test_the_baseline_of_another_precision_of_an_encoder_is_the_plain_one(tmp_path):
    add(tmp_path, "ner", "glove", 0)
    add(tmp_path, "ner", "elmo", 0, settings={"encoder.precision": "int8"})
    pairs = {row.label: base and base.label for row, base in over_baseline([*select(read_all(tmp_path).records).rows])}
    assert pairs == {"elmo, encoder.precision=int8": "glove", "glove": None}
