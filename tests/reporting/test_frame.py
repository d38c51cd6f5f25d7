"""From records to frames: seeds together, newest contents current, and the baseline of a system."""

import numpy as np
import pytest

import elmo_bench
from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths, write_record
from elmo_bench.reporting.console import overviews
from elmo_bench.reporting.frame import runs, shown, systems
from elmo_bench.reporting.pairs import baseline_pairs
from elmo_bench.reporting.provenance import superseded
from elmo_bench.reporting.remarks import left_out, remarks
from tests.ledger.records import OUTCOMES, changed, put
from tests.reporting.frames import runs_in, systems_in
from tests.reporting.ledgers import add, fill


def test_the_seeds_of_a_run_are_a_system_and_the_best_comes_first(tmp_path):
    records = fill(tmp_path, "ner", "elmo", seeds=2)
    fill(tmp_path, "ner", "elmo", seeds=2, place="both", lift=0.1)
    table = systems_in(tmp_path)
    assert list(table.run_label) == ["elmo, place=both", "elmo"]
    assert list(table.seeds) == [(0, 1)] * 2 and list(table.n) == [2, 2]
    scores = [record.scores.test.overall["f1"] for record in records]
    plain = table.iloc[1]
    assert plain.test_scores == tuple(scores)
    assert (plain.test_mean, plain.test_sd) == pytest.approx((np.mean(scores), np.std(scores, ddof=1)))


def test_minutes_of_a_gpu_and_of_a_processor_are_not_averaged(tmp_path):
    fill(tmp_path, "ner", "elmo", seeds=2)
    rows = runs_in(tmp_path)
    rows["work_minutes"] = [3.0, 1.0]
    assert systems(rows).work_minutes.item() == 2.0
    rows.loc[1, "device"] = "A GPU"
    assert systems(rows).work_minutes.item() == 1.0  # of equally new ones the last seed
    rows.loc[0, "created"] = "2999-01-01T00:00:00+00:00"
    assert systems(rows).work_minutes.item() == 3.0


def test_a_single_seed_has_no_deviation(tmp_path):
    add(tmp_path, "ner", "elmo", 0)
    [row] = systems_in(tmp_path).itertuples()
    assert np.isnan(row.test_sd) and np.isnan(row.macro_f1_mean)


def test_the_newest_contents_are_current(tmp_path):
    old = [add(tmp_path, "ner", "elmo", k, weights="w1", created=f"2026-01-0{k + 1}T00:00:00+00:00") for k in (0, 1)]
    new = add(tmp_path, "ner", "elmo", 0, weights="w2", created="2026-01-03T00:00:00+00:00")
    frame = runs_in(tmp_path)
    assert list(shown(frame).attempt) == [new.attempt]
    replaced = frame[~frame.current]
    assert list(zip(replaced.hash, replaced.seed, replaced.replaced_by, strict=True)) == [
        (old[0].hash, seed, new.hash) for seed in (0, 1)
    ]
    [(path, why)] = superseded(frame)
    assert path == f"open/ner/elmo/{old[0].hash}"
    assert why == f"(seeds 0, 1) by {new.hash}; changed: weights"


@pytest.mark.parametrize("older", [{"settings": {"protocol": 1}}, {"version": 0}])
def test_a_later_record_of_an_older_installation_replaces_nothing(tmp_path, older):
    new = add(tmp_path, "ner", "elmo", 0, created="2026-01-01T00:00:00+00:00")
    old = add(tmp_path, "ner", "elmo", 0, created="2026-01-02T00:00:00+00:00", **older)
    frame = runs_in(tmp_path)
    assert list(shown(frame).attempt) == [new.attempt]
    assert dict(zip(frame.hash, frame.replaced_by, strict=True)) == {new.hash: "", old.hash: new.hash}


@pytest.mark.parametrize(
    ("options", "label", "changed"),
    [
        ({}, "elmo", ("", "")),
        ({"mix": "last"}, "elmo, mix=last", ("mix=last", "")),
        ({"penalty": 0.0015625}, "elmo", ("", "")),  # the task's λ
        ({"penalty": 1.0}, "elmo, mix.penalty=1", ("mix.penalty=1", "")),
        ({"train_fraction": 0.1}, "elmo", ("", "data.train_fraction=0.1, data.least_steps=100")),
        ({"max_train": 50}, "elmo", ("", "data.max_train=50")),
        ({"settings": {"task.data.open.c": None}}, "elmo, task.data.open.c=null", ("task.data.open.c=null", "")),
    ],
)
def test_what_a_run_changes(tmp_path, options, label, changed):
    add(tmp_path, "ner", "elmo", 0, **options)
    [row] = runs_in(tmp_path).itertuples()
    assert (row.run_label, row.encoder_label) == (label, "elmo")
    assert (row.variation, row.fraction) == changed
    assert row.basis == "/".join([row.home, row.fraction])


def baselines(table):
    """{(task, label, examples): the same of the baseline} of each system that has one."""
    names = {row.hash: (row.task, row.run_label, row.train) for row in table.itertuples()}
    pairs = baseline_pairs(table)
    return {names[ours]: names[theirs] for ours, theirs in zip(pairs.ours, pairs.theirs, strict=True)}


def test_the_baseline_has_the_same_changes_as_far_as_they_concern_it(tmp_path):
    few, long = {"train_fraction": 0.1}, {"settings": {"task.training.epochs": 50}}
    for encoder, options in (("glove", {}), ("glove", few), *(("elmo", o) for o in ({}, few, {"mix": "last"}, long))):
        add(tmp_path, "ner", encoder, 0, **options)
    add(tmp_path, "sst5", "elmo", 0)
    table = systems_in(tmp_path)
    assert baselines(table) == {
        ("ner", "elmo", 3394): ("ner", "glove", 3394),
        ("ner", "elmo", 339): ("ner", "glove", 339),
        ("ner", "elmo, mix=last", 3394): ("ner", "glove", 3394),
    }
    assert "elmo, task.training.epochs=50" in set(table.run_label)  # glove was not trained for so long


def from_folder(ledger, encoder, place, seed=0, task="ner", **options):
    """A run as `add`, of weights in this folder."""
    record = add(ledger, task, encoder, seed, weights=place, **options)
    put(RunPaths.of(ledger, record).record, changed(record, {"environment/source": place}))


def test_two_encoders_whose_paths_end_alike_are_two_systems(tmp_path, capsys):
    for place in ("runs/first/mybert", "runs/second/mybert"):
        for seed in (0, 1):
            from_folder(tmp_path, "mybert", place, seed)
    table = systems_in(tmp_path)
    assert dict(zip(table.run_label, table.n, strict=True)) == {"first/mybert": 2, "second/mybert": 2}
    assert {*elmo_bench.results(tmp_path).encoder} == {"first/mybert", "second/mybert"}
    assert main(["compare", "first/mybert", "second/mybert", "--ledger", str(tmp_path)]) == 0
    assert "test scores of first/mybert minus second/mybert" in capsys.readouterr().out
    from_folder(tmp_path, "elmo", "a/weights.hdf5")
    from_folder(tmp_path, "elmo", "b/weights.hdf5")
    labels = {label for label in systems_in(tmp_path).run_label if label.startswith("elmo")}
    assert labels == {"elmo (a/weights.hdf5)", "elmo (b/weights.hdf5)"}


def test_one_folder_by_two_paths_is_named_by_the_whole_path(tmp_path):
    from_folder(tmp_path, "mybert", "models/mybert")
    from_folder(tmp_path, "mybert", "mine/models/mybert", task="snli")
    assert set(systems_in(tmp_path).run_label) == {"models/mybert", "mine/models/mybert"}


def test_newer_weights_of_one_folder_replace_older_ones(tmp_path):
    from_folder(tmp_path, "mybert", "runs/mybert", created="2026-01-01T00:00:00+00:00")
    add(tmp_path, "ner", "mybert", 0, weights="as a record of an earlier version", created="2026-01-02T00:00:00+00:00")
    assert list(systems_in(tmp_path).run_label) == ["mybert"]


def test_two_files_of_one_name_are_named(tmp_path):
    """A run knows the name of its file and the digest of its examples: a newer version, or another file."""
    run = (tmp_path, "classification", "glove", 0)
    old, new = (add(*run, suite="reviews", data=n, created=f"2026-01-0{n}T00:00:00+00:00") for n in (1, 2))
    frame = runs(tmp_path, [old, new])
    assert list(shown(frame).attempt) == [new.attempt]
    [line] = remarks(frame)
    assert line.startswith("classification on suite reviews: runs on an earlier file of this name are left out. If it")
    assert line.endswith("suite.name=NAME.")
    [_, note] = overviews([old, new])
    assert note == line


@pytest.mark.usefixtures("undrawn")
def test_runs_of_a_task_that_is_not_included_are_named(tmp_path, capsys, make_record):
    add(tmp_path, "ner", "glove", 0)
    record = make_record(task="mine")
    write_record(RunPaths.of(tmp_path, record), record, OUTCOMES)
    frame = runs_in(tmp_path)
    assert list(shown(frame).task) == ["ner"]
    [line] = left_out(frame)
    assert line.startswith("task mine, encoder ") and line.endswith("Give its folder: --include FOLDER.")
    for command in (["report", "--out", str(tmp_path / "out")], ["compare", "glove", "elmo"]):
        main([*command, "--ledger", str(tmp_path)])
        assert line in capsys.readouterr().err


def test_a_run_whose_kind_of_encoder_is_no_text_is_left_out(tmp_path):
    add(tmp_path, "ner", "elmo", 0, settings={"encoder.contextual.kind": ["elmo"]})
    assert [line.partition(":")[0] for line in left_out(runs_in(tmp_path))] == ["task ner, encoder elmo"]


def test_the_baseline_of_another_precision_of_an_encoder_is_the_plain_one(tmp_path):
    add(tmp_path, "ner", "glove", 0)
    add(tmp_path, "ner", "elmo", 0, settings={"encoder.precision": "int8"})
    assert baselines(systems_in(tmp_path)) == {
        ("ner", "elmo, encoder.precision=int8", 3394): ("ner", "glove", 3394),
    }
