"""`status`: the runs of a sweep that are done, running or missing."""

import shlex

import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import RunPaths, read_record, run_lock, write_record
from elmo_bench.reporting.published import published
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import OUTCOMES, changed, hash_of, make_record
from tests.ledger.records import put as write_content
from tests.runs import first_ones, small

PRECISION = "trainer.precision=32-true"  # as the records have
SWEEP = ("task=ner", "encoder=none,glove", "seed=0,1")


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def status(ledger, capsys):
    """`status(*options) -> (exit code, what it printed)` of SWEEP on this ledger."""

    def status(*options, sweep=SWEEP):
        capsys.readouterr()
        code = main(["status", *options, *sweep, f"ledger={ledger}"])
        said = capsys.readouterr()
        return code, said.out

    return status


def test_the_ledger_may_be_named_as_for_the_other_commands(ledger, tmp_path, capsys):
    put(other := tmp_path / "my runs", "task=ner", "encoder=glove", "seed=0")
    assert main(["status", "--ledger", str(other), "encoder=glove", "seed=0,1"]) == 0
    assert "2 runs: 1 done (1 converged), 1 missing" in capsys.readouterr().out
    assert main(["status", "--ledger", str(other), "encoder=glove", f"ledger={ledger}"]) == 2
    assert "ledger is given 2 times" in capsys.readouterr().err


def test_an_address_is_shown_without_its_key_and_options_as_a_shell_reads_them(status):
    _, said = status(sweep=["encoder=elmo", "encoder.weights=https://me:key@host/w.hdf5"])
    assert said.startswith("encoder=elmo encoder.weights=https://host/w.hdf5 ledger=")
    _, missing = status("--missing", sweep=["encoder=elmo", "encoder.weights='two words'"])
    words = shlex.split(missing)
    assert words[:2] == ["encoder=elmo", "encoder.weights='two words'"]


def test_a_sweep_of_a_floor_alone_has_seconds_left(status):
    _, said = status(sweep=["task=classification", "data.file=a.csv", "encoder=tfidf"])
    assert "1 missing; seconds left" in said


def put(ledger, *options, versions=(), weights="w1", created="2026-01-02T03:04:05+00:00", seconds=60.0, dev=None):
    """The record of a run of today's config, without the run."""
    config = compose("config", list(options))
    spec = RunSpec.of(config).with_contents({"weights": weights}).to_json()
    spec["settings"] |= dict(versions)
    record = make_record(spec=spec, hash=hash_of(spec), seed=config.seed, created=created)
    changes = {"cost/cpu_seconds": seconds, "curves": {"dev": dev or [55.0, 60.0, 59.0], "steps": [1] * 3}}
    if dev:
        changes |= {"scores/dev/overall/f1": max(dev), "epochs/best": dev.index(max(dev)) + 1}
    record = changed(record, changes)
    paths = RunPaths.of(ledger, record)
    write_record(paths, record, OUTCOMES)
    return paths


def test_a_run_on_all_of_the_data_is_not_estimated_from_one_on_a_fraction(status, ledger):
    put(ledger, "encoder=none", "lr_scale=2", seconds=60.0)
    put(ledger, "encoder=none", "data.train_fraction=0.1", seconds=6.0)
    put(ledger, "encoder=glove", "data.train_fraction=0.1", seconds=60.0)
    _, said = status()
    assert "4 runs: 4 missing; about 4 min left, one after the other" in said


def test_a_tuned_run_is_estimated_from_tuned_ones_alone(status, ledger):
    tuned = ("encoder=elmo", "encoder.contextual.tune=full")
    put(ledger, "encoder=elmo", seconds=60.0)
    assert "; no comparable run to estimate the time" in status(sweep=[*tuned, "seed=0"])[1]
    put(ledger, *tuned, "encoder.tune_lr=0.1", seconds=6000.0)
    assert "; about 1 h 40 min left" in status(sweep=[*tuned, "seed=0"])[1]
    assert "; about 1 min left" in status(sweep=["encoder=elmo", "seed=1"])[1]


def test_every_state_is_counted_and_the_time_left_told(status, ledger):
    """none: 80 s done, and of an older version; glove: one missing, one running. glove's time is the task's: 60 s."""
    put(ledger, "encoder=none", seconds=80.0, dev=[5.0, 5.0, 5.0])
    put(ledger, "encoder=none", "seed=1", versions={"task.version": 0}, seconds=40.0)
    spec = RunSpec.of(compose("config", ["encoder=glove"])).with_contents({"weights": "w"})
    with run_lock(RunPaths(ledger, "open", "ner", "glove", spec.hash, 1), spec=spec.to_json()):
        _, said = status()
    assert "4 runs: 1 done (0 converged), 1 running, 2 missing; about 3 min left, one after the other" in said
    assert "running: task=ner encoder=glove seed=1" in said
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("|")]
    assert rows[2:] == [["open", "ner", "none", "1", "", "", "1"], ["open", "ner", "glove", "", "", "1", "1"]]


def test_missing_alone_as_run_takes_them(status, ledger):
    put(ledger, "encoder=none")
    _, missing = status("--missing")
    assert status("task=ner", "--missing", sweep=SWEEP[1:])[1] == missing  # options before and after a flag
    assert [line.split()[1:3] for line in missing.splitlines() if line.startswith("task=")] == [
        ["encoder=none", "seed=1"], ["encoder=glove", "seed=0"], ["encoder=glove", "seed=1"],
    ]  # fmt: skip


def test_a_run_of_an_earlier_protocol_or_weights_is_missing_and_converged_runs_are_counted(status, ledger):
    put(ledger, "encoder=none", versions={"protocol": 1})
    put(ledger, "encoder=none", "seed=1", weights="old")
    put(ledger, "encoder=none", "seed=2", created="2026-02-02T03:04:05+00:00")
    put(ledger, "encoder=none", "seed=3", created="2026-02-02T03:04:06+00:00", dev=[0.0, 0.0, 0.0])  # learned nothing
    _, said = status(sweep=("encoder=none", "seed=0,1,2,3"))
    assert "4 runs: 2 done (1 converged), 2 missing" in said
    assert "| open  | ner  | none    | 2    | 1         |         | 2       |" in said


@pytest.mark.parametrize("damaged", first_ones([1, 25], 1))
def test_damaged_records_are_named_and_the_others_are_counted(status, ledger, capsys, damaged):
    """The first 20; `check` names all."""
    paths = [put(ledger, "encoder=none", f"seed={seed}") for seed in range(damaged + 1)]
    for path in paths[1:]:
        path.record.write_text("{")
    assert main(["status", "encoder=none", "seed=0,1,2", f"ledger={ledger}"]) == 2
    printed = capsys.readouterr()
    assert "3 runs: 1 done (1 converged), 2 missing" in printed.out
    lines = printed.err.splitlines()
    assert lines[0].startswith(f"elmo-bench status: {paths[1].record}: not valid JSON")
    assert len(lines) == min(damaged, 21)
    assert (lines[-1] == "elmo-bench status: and 5 more (elmo-bench check LEDGER lists them)") == (damaged == 25)
    assert main(["check", str(ledger)]) == 1
    said = capsys.readouterr().out
    assert all(f"WRONG {path.record}: not valid JSON" in said for path in paths[1:])


def test_the_records_of_other_tasks_are_not_read(status, ledger, capsys):
    """Neither states nor times depend on them; `check` and `report` name what is wrong with them."""
    put(ledger, "task=snli", "encoder=none").record.write_text("{")
    assert main(["status", *SWEEP, f"ledger={ledger}"]) == 0
    assert capsys.readouterr().err == ""  # it has a run
    put(ledger, "task=ner", "encoder=hf", "encoder.name=other").record.write_text("{")
    assert main(["status", *SWEEP, f"ledger={ledger}"]) == 2
    assert main(["check", str(ledger)]) == 1
    assert capsys.readouterr().out.count("not valid JSON") == 2


def test_a_ledger_that_is_named_and_has_no_run_is_a_line(status, ledger, capsys):
    def line(*named):
        assert main(["status", *SWEEP, *(named or [f"ledger={ledger}"])]) == 0
        return capsys.readouterr().err

    assert line() == line("--ledger", str(ledger)) == f"elmo-bench status: {ledger}: no such folder\n"
    ledger.mkdir()
    assert line() == f"elmo-bench status: {ledger}: no run in it\n"
    put(ledger, "encoder=none")
    assert line() == ""


def test_what_run_did_is_done(elmo_run, capsys):
    """For real, with weights from a path."""
    assert main(["status", *small(f"ledger={elmo_run[0]}")]) == 0
    assert "1 run: 1 done" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give --experiment NAME"),
        (["--experiment", "table9"], "unknown experiment"),
        (["--experiment", "table1", "tsk=ner"], "unknown option 'tsk'"),
        (["mix.penalty=0.1,-1"], "mix.penalty=-1: give a number from 0"),
        ([f"ledger={__file__}"], "is a file; give a folder"),
    ],
)
def test_a_mistake_is_one_line(options, said, refused):
    assert said in refused("status", *options)


def test_time_without_a_run_of_ones_own_is_that_of_the_published_run(tmp_path, capsys):
    assert main(["status", "task=ner", "encoder=glove", f"ledger={tmp_path / 'runs'}"]) == 0
    [row] = [row for row in published().values() if (row.task, row.encoder, row.label) == ("ner", "glove", "")]
    assert f"1 run: 1 missing; about {round(row.minutes)} min left" in capsys.readouterr().out
    twice = ["task=ner", "encoder=glove", "task.training.epochs=64"]
    assert main(["status", *twice, f"ledger={tmp_path / 'runs'}"]) == 0
    assert f"; about {round(2 * row.minutes)} min left" in capsys.readouterr().out


@pytest.mark.parametrize("other", ["size=paper", "trainer=gpu"])
def test_a_run_of_another_size_or_device_has_no_estimate_from_the_usual_ones(status, ledger, other):
    sweep = ["task=ner", "encoder=glove", "seed=1", other]
    assert "1 missing; no comparable run to estimate the time" in status(sweep=sweep)[1]
    put(ledger, "encoder=glove", "seed=0", seconds=600.0)
    assert "1 missing; no comparable run to estimate the time" in status(sweep=sweep)[1]


def test_minutes_of_a_gpu_are_no_estimate_of_a_run_on_the_cpu(status, ledger):
    path = put(ledger, "encoder=glove", "seed=0").record
    on_gpu = {"environment/device": "NVIDIA H200", "cost/seconds": 6.0}
    write_content(path, changed(read_record(path), on_gpu))
    put(ledger, "encoder=glove", "lr_scale=2", seconds=600.0)
    assert "; about 10 min left" in status(sweep=["task=ner", "encoder=glove", "seed=1"])[1]
    assert "; about 6 s left" in status(sweep=["task=ner", "encoder=glove", "seed=1", "trainer=gpu", PRECISION])[1]


def test_two_folders_of_one_name_are_two_encoders(status, ledger):
    """A record says which folder its weights are from: the run of the other folder is missing."""
    path = put(ledger, "encoder=hf", "encoder.name=here/first/checkpoint-500").record
    write_content(path, changed(read_record(path), {"environment/source": "here/first/checkpoint-500"}))
    folders = "encoder.name=here/first/checkpoint-500,here/second/checkpoint-500"
    _, said = status(sweep=("encoder=hf", folders, "seed=0"))
    assert "2 runs: 1 done (1 converged), 1 missing" in said
    assert "| open  | ner  | first/checkpoint-500  | 1    |" in said
    assert "| open  | ner  | second/checkpoint-500 |      |" in said
    assert status("--missing", sweep=("encoder=hf", folders))[1].split()[1] == "encoder.name=here/second/checkpoint-500"


@pytest.mark.parametrize(("epochs", "left"), [(1, "20 s"), (64, "21 min")])
def test_an_estimate_is_scaled_to_the_epochs_of_the_run(status, ledger, epochs, left):
    put(ledger, "encoder=glove", "seed=0", seconds=640.0)  # 32 epochs
    for seed in range(5):
        put(ledger, "encoder=glove", f"seed={seed}", "task.training.epochs=2", seconds=40.0)
    given = ["task=ner", "encoder=glove", "seed=1", f"task.training.epochs={epochs}"]
    assert f"1 missing; about {left} left" in status(sweep=given)[1]


@pytest.mark.parametrize("shorter", ["data.train_fraction=0.1", "data.max_train=32"])
def test_an_estimate_from_longer_runs_is_a_bound(status, ledger, shorter):
    put(ledger, "encoder=glove", "seed=0", seconds=600.0)
    assert "; about 10 min left" in status(sweep=["task=ner", "encoder=glove", "seed=1"])[1]
    assert "; at most about 10 min left" in status(sweep=["task=ner", "encoder=glove", "seed=1", shorter])[1]
    put(ledger, "encoder=none", "seed=0", shorter, seconds=20.0)
    assert "; about 20 s left" in status(sweep=["task=ner", "encoder=elmo", "seed=1", shorter])[1]
