"""Ledgers from two machines become one."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths, digest_of, read_all, read_outcomes, run_lock, write_record
from elmo_bench.ledger.merge import merge
from elmo_bench.spec.names import metric_of
from elmo_bench.spec.run_spec import changes_of
from tests.ledger.records import changed, make_record, put, store_record
from tests.reporting.ledgers import add
from tests.runs import files


@pytest.fixture
def theirs(tmp_path):
    return tmp_path / "theirs"


@pytest.fixture
def ours(tmp_path):
    return tmp_path / "ours"


def test_records_outcomes_and_heads_are_added(theirs, ours):
    run = store_record(theirs, seed=1)
    run.work.mkdir()
    for name in ("head.safetensors", "test.predictions.conll", "last.ckpt", ".wandb-tmp"):
        (run.work / name).write_bytes(b"x")
    log, others = ["log/events.out.tfevents.1.m", "log/metrics.csv"], [".git/config", "sub/.git/config", "log/x.sh"]
    for name in (*log, *others, "run.py"):
        (run.work / name).parent.mkdir(exist_ok=True, parents=True)
        (run.work / name).write_bytes(b"y")
    store_record(ours, seed=0)
    merged = merge(theirs, ours, metric_of, changes_of)
    added = RunPaths.of(ours, make_record(seed=1))
    assert (merged.added, merged.present, merged.conflicts, merged.problems) == ([added], [], [], [])
    assert [record.seed for record in read_all(ours).records] == [0, 1]
    assert read_outcomes(added)["guessed"].tolist() == [0, 3, 255]
    assert added.record.read_bytes() == run.record.read_bytes()
    assert added.outcomes.read_bytes() == run.outcomes.read_bytes()
    assert files(added.work) == ["head.safetensors", *log, "test.predictions.conll"]
    before = files(ours)
    again = merge(theirs, ours, metric_of, changes_of)
    assert (again.added, again.present, files(ours)) == ([], [added], before)


REFIT = {"epochs": 2, "examples": 9, "cpu_seconds": 1.0}


@pytest.mark.parametrize(
    ("own", "of_ours", "of_theirs", "head", "refit"),
    [
        ([], {}, {}, b"theirs", False),
        ([], {}, {"refit": REFIT}, b"theirs", True),
        (["head.safetensors"], {}, {"refit": REFIT}, b"ours", False),  # ours stays
        ([], {"refit": REFIT}, {}, None, True),  # not the head of our record
        ([], {}, {"refit": REFIT, "attempt": "f" * 32}, None, False),  # a run of its own
    ],
)
def test_a_present_record_of_the_same_attempt_gets_the_files_that_it_lacks(
    theirs, ours, *, own, of_ours, of_theirs, head, refit
):
    there, here = store_record(theirs, **of_theirs), store_record(ours, **of_ours)
    for run, names, content in (
        (there, ["head.safetensors", "test.predictions.conll"], b"theirs"), (here, own, b"ours")
    ):  # fmt: skip
        run.work.mkdir()
        for name in names:
            (run.work / name).write_bytes(content)
    merged = merge(theirs, ours, metric_of, changes_of)
    assert (merged.added, merged.present, merged.conflicts, merged.problems) == ([], [here], [], [])
    file = here.work / "head.safetensors"
    assert (file.read_bytes() if file.exists() else None) == head
    assert (here.work / "test.predictions.conll").exists() == ("attempt" not in of_theirs)
    [record] = read_all(ours).records
    assert (record.refit is not None) == refit


@pytest.mark.parametrize("name", ["log", "head.safetensors"])
def test_no_file_behind_a_link_of_theirs_is_copied(theirs, ours, tmp_path, name):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "metrics.csv").write_bytes(b"secret")
    (tmp_path / "head.safetensors").write_bytes(b"secret")
    run = store_record(theirs)
    run.work.mkdir()
    (run.work / name).symlink_to(tmp_path / name)
    [added] = merge(theirs, ours, metric_of, changes_of).added
    assert files(added.work) == []


def test_of_two_scores_ours_stay(theirs, ours):
    paths = store_record(ours, test=50.0)
    store_record(theirs, test=51.0, created="2026-02-01T00:00:00+00:00")
    [line] = merge(theirs, ours, metric_of, changes_of).conflicts
    [record] = read_all(ours).records
    assert record.scores.test.overall["f1"] == 50.0
    assert "other scores than " in line
    assert str(paths.record) in line
    assert "\n" not in line


def test_what_is_damaged_linked_or_held_is_named_and_the_rest_is_added(theirs, ours, tmp_path):
    runs = [store_record(theirs, seed=seed) for seed in range(5)]
    runs[0].record.write_text("{")
    runs[1].outcomes.write_bytes(b"PK")
    runs[2].record.rename(tmp_path / "elsewhere.json")
    runs[2].record.symlink_to(tmp_path / "elsewhere.json")
    with run_lock(RunPaths.of(ours, make_record(seed=3))):
        merged = merge(theirs, ours, metric_of, changes_of)
    assert [path.seed for path in merged.added] == [4]
    assert sorted(line.split(": ")[0].split("/")[-1] for line in merged.problems) == [
        "seed0.json", "seed1.npz", "seed2.json", "seed3",
    ]  # fmt: skip


def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_added(theirs, ours, capsys, monkeypatch):
    runs = [store_record(theirs, seed=seed) for seed in range(3)]
    for run in runs:
        run.work.mkdir()
        (run.work / "head.safetensors").write_bytes(b"x")
    head, work = runs[0].work / "head.safetensors", runs[1].work
    opened, is_symlink = Path.open, Path.is_symlink

    def forbid(function, forbidden):
        def forbidding(path, *arguments, **options):
            if path == forbidden:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return function(path, *arguments, **options)

        return forbidding

    monkeypatch.setattr(Path, "open", forbid(opened, head))
    monkeypatch.setattr(Path, "is_symlink", forbid(is_symlink, work))
    assert main(["merge", str(theirs), "--into", str(ours)]) == 1
    said = capsys.readouterr()
    assert f"{head}: cannot be read (Permission denied). Look at the file and its disk." in said.err
    assert f"{work}: Permission denied" in said.err
    assert "1 records added, 0 were present; 0 conflicts, 2 skipped" in said.out
    assert [record.seed for record in read_all(ours).records] == [2]


def test_a_copy_of_a_run_of_ours_under_another_seed_and_wrong_sums_are_not_added(theirs, ours):
    store_record(ours, attempt="a" * 32)
    store_record(theirs, seed=1, attempt="a" * 32)
    store_record(theirs, seed=2, task="ner", formula="f1-counts")
    copy, summed = sorted(merge(theirs, ours, metric_of, changes_of).problems, key=lambda line: "/ner/" in line)
    assert "seed1.json: the same attempt as seed 0" in copy
    assert "seed2.json: outcomes on dev" in summed or "no outcomes on dev" in summed


def test_two_seeds_of_a_run_have_mixes_of_as_many_layers(theirs, ours):
    store_record(ours)
    mix = {"weights": [1.0], "gamma": 1.0, "norms": [1.0]}
    store_record(theirs, seed=1, layer_weights=[{"input": mix}] * 3)
    [problem] = merge(theirs, ours, metric_of, changes_of).problems
    assert "seed1.json: layer_weights: other places or layers than in another seed of the run" in problem


def test_a_link_in_our_ledger_is_not_written_through(theirs, ours, tmp_path):
    store_record(theirs)
    (tmp_path / "outside").mkdir()
    ours.mkdir()
    (ours / "open").symlink_to(tmp_path / "outside")
    [problem] = merge(theirs, ours, metric_of, changes_of).problems
    assert "a symbolic link" in problem
    assert files(tmp_path / "outside") == []


def test_a_target_that_cannot_be_written_is_one_line(theirs, ours, monkeypatch, refused):
    store_record(theirs)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != ours)  # root may always write
    said = refused("merge", theirs, "--into", ours)
    assert f"{ours}: cannot be written. Give a folder that you may write to." in said
    assert files(ours) == []


def test_the_command_counts_and_its_exit_code_tells(theirs, ours, tmp_path, capsys, refused):
    store_record(theirs, seed=0)
    assert main(["merge", str(theirs), "--into", str(ours)]) == 0
    assert capsys.readouterr().out == f"{ours}: 1 records added, 0 were present; 0 conflicts, 0 skipped\n"
    store_record(theirs, seed=0, test=1.0)
    assert main(["merge", str(theirs), "--into", str(ours)]) == 1
    assert "which is kept" in capsys.readouterr().err
    store_record(theirs, seed=1).record.write_text("{")
    assert main(["merge", str(theirs), "--into", str(ours)]) == 1
    missing = tmp_path / "none"
    assert str(missing) in refused("merge", missing, "--into", ours)


@pytest.mark.parametrize("students", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_the_ledgers_of_a_class_are_merged_at_once(tmp_path, capsys, refused, students):
    """Students with a seed each; the gain is then over all seeds."""
    ledgers = [tmp_path / f"student-{seed}" for seed in range(students)]
    for seed, ledger in enumerate(ledgers):
        for encoder in ("glove", "elmo"):
            add(ledger, "ner", encoder, seed)
    ours = tmp_path / "class"
    said = refused("merge", *ledgers, tmp_path / "none", "--into", ours)
    assert "none: no such folder" in said and not ours.exists()
    assert main(["merge", *map(str, ledgers), "--into", str(ours)]) == 0
    said = capsys.readouterr().out
    assert f"{2 * students} records added, 0 were present" in said and "0 conflicts, 0 skipped" in said
    assert main(["compare", "elmo", "glove", "--ledger", str(ours)]) == 0
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ner")]
    assert f"| {students} and {students} " in row and "ahead" in row
    (tmp_path / "empty").mkdir()
    others = tmp_path / "others"
    assert "empty: no run in it" in refused("merge", ledgers[0], tmp_path / "empty", "--into", others)
    assert not others.exists()


def test_records_of_older_versions_get_what_they_change_and_keep_their_hash(tmp_path, capsys):
    """And a statement that is not true of the settings is corrected."""
    ledger = tmp_path / "runs"
    default, last = add(ledger, "ner", "elmo", 0), add(ledger, "ner", "elmo", 0, mix="last")
    put(RunPaths.of(ledger, default).record, changed(default, {"changes": {"mix": "first"}}))
    outcomes = {path.name: path.read_bytes() for path in ledger.rglob("*.npz")}
    assert main(["merge", str(ledger), "--into", str(ledger)]) == 0
    assert "0 records added, 2 were present; what they change was added to 2" in capsys.readouterr().out
    changes = {"changes": {}}, {"changes": {"mix": "last"}}
    right = [changed(record, change) for record, change in zip((default, last), changes, strict=True)]
    assert sorted(read_all(ledger).records, key=lambda each: each.hash) == sorted(right, key=lambda each: each.hash)
    assert {path.name: path.read_bytes() for path in ledger.rglob("*.npz")} == outcomes
    assert main(["merge", str(ledger), "--into", str(ledger)]) == 0
    assert "what they change" not in capsys.readouterr().out


def test_equal_scores_from_other_outcomes_are_a_conflict(tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    record, outcomes = make_record(), {"correct": np.array([0, 1, 1], dtype=bool)}
    store_record(ours)
    write_record(RunPaths.of(theirs, record), changed(record, {"outcomes": digest_of(outcomes)}), outcomes)
    merged = merge(theirs, ours, metric_of, changes_of)
    assert merged.present == []
    assert "other outcomes than " in merged.conflicts[0]


def test_nothing_in_a_work_folder_that_is_a_link_is_copied(tmp_path):
    for name in ("head.safetensors", "log/metrics.csv"):
        (path := tmp_path / "outside" / name).parent.mkdir(exist_ok=True)
        path.write_bytes(b"secret")
    run = store_record(tmp_path / "theirs")
    run.work.symlink_to(tmp_path / "outside")
    [added] = merge(tmp_path / "theirs", tmp_path / "ours", metric_of, changes_of).added
    assert files(added.work) == []
