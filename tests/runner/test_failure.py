"""A run that fails: its failure file, the rest of a sweep, the list at the end, the exit code."""

import json

from elmo_bench.ledger import read_failures, read_ledger
from tests.runs import files, small

BROKEN = "encoder.contextual._target_=tests.runner.broken.FailsToEncode"


def test_a_failed_run_leaves_traceback_and_config_and_no_record(main_job, tmp_path, capsys):
    assert main_job(*small(BROKEN, "seed=3")) == 1
    assert "this encoder is broken" in capsys.readouterr().err
    [(paths, failure)] = read_failures(tmp_path / "runs")
    assert paths.seed == 3
    assert failure["traceback"].startswith("Traceback (most recent call last)")
    assert failure["traceback"].rstrip().endswith("ValueError: this encoder is broken")
    assert failure["config"]["encoder"]["contextual"]["_target_"].endswith("FailsToEncode")
    assert read_ledger(tmp_path / "runs") == []
    assert files(paths.folder) == ["seed3.failed.json"]


def test_a_loss_that_is_not_a_number_is_one_line_that_says_what_to_lower(main_job, tmp_path, capsys):
    assert main_job(*small("task.training.optimizer.lr=1e30", "task.training.epochs=3", encoder="none")) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "the loss is" in last
    assert "lower task.training.optimizer.lr" in last
    [(_, failure)] = read_failures(tmp_path / "runs")
    assert "the loss is" in failure["traceback"]
    assert read_ledger(tmp_path / "runs") == []


def test_the_rest_of_a_sweep_goes_on_and_its_end_lists_what_failed(main_job, tmp_path, capsys):
    """Two of four runs fail, neither the last one."""
    sweep = ["-m", "task.training.optimizer.lr=1e30,0.001", "seed=0,1", "task.training.epochs=3"]
    assert main_job(*small(*sweep, encoder="none")) == 2
    records = read_ledger(tmp_path / "runs")
    failures = read_failures(tmp_path / "runs")
    assert [record["seed"] for record in records] == [0, 1]
    assert [paths.seed for paths, _ in failures] == [0, 1]
    assert {record["config"]["task"]["training"]["optimizer"]["lr"] for record in records} == {0.001}
    end = capsys.readouterr().err.strip().splitlines()[-3:]
    assert end[0] == "2 runs failed:"
    for seed, line in enumerate(end[1:]):
        assert line.startswith("run.py: ")
        assert "task.training.optimizer.lr=1e+30" in line  # as Hydra writes it
        assert f"seed={seed}" in line
        assert "the loss is" in line


def test_an_exception_in_a_sweep_is_listed_with_the_place_of_its_traceback(main_job, tmp_path, capsys):
    assert main_job(*small("-m", BROKEN, "seed=0,1")) == 1
    printed = capsys.readouterr().err
    assert printed.count("run.py: ") == 2
    assert "2 runs failed:" in printed
    assert printed.count("Traceback (most recent call last)") == 2
    assert "ValueError: this encoder is broken" in printed
    assert len(read_failures(tmp_path / "runs")) == 2


def test_an_encoder_that_cannot_be_made_leaves_its_traceback_too(main_job, tmp_path, capsys):
    """In a sweep the end must not point to a file that is not there, or the traceback is lost."""
    options = small("-m", "encoder.contextual._target_=tests.runner.broken.FailsToLoad", "seed=0,1")
    assert main_job(*options) == 1
    printed = capsys.readouterr().err
    assert "this encoder cannot be made" in printed
    assert list(tmp_path.rglob("*.failed.json")) or "Traceback (most recent call last)" in printed


def test_a_later_success_removes_the_failure_file(main_job, tmp_path):
    options = small("encoder.contextual._target_=tests.runner.broken.FailsWhileThereIsAFile")
    (tmp_path / "broken").touch()
    assert main_job(*options) == 1
    [(paths, _)] = read_failures(tmp_path / "runs")
    assert paths.failure.exists()
    (tmp_path / "broken").unlink()
    assert main_job(*options) == 0
    assert read_failures(tmp_path / "runs") == []
    [record] = read_ledger(tmp_path / "runs")
    assert (record["hash"], record["seed"]) == (paths.hash, paths.seed)


def test_wandb_ends_its_run_whatever_happens(main_job, tmp_path, monkeypatch):
    """One offline run a run of the sweep, each closed; see test_wandb for the real thing."""
    closed = []
    monkeypatch.setattr(
        "elmo_bench.training.loggers.finish", lambda logger, failed: closed.append((type(logger).__name__, failed))
    )
    assert (
        main_job(*small("task.training.optimizer.lr=1e30", "task.training.epochs=3", "logger=csv", encoder="none")) == 2
    )
    assert main_job(*small("logger=csv", encoder="none")) == 0
    assert closed == [("CSVLogger", True), ("CSVLogger", False)]


def test_a_failure_file_is_plain_json(main_job, tmp_path):
    assert main_job(*small(BROKEN)) == 1
    [path] = tmp_path.rglob("*.failed.json")
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)["config"]["data"]["max_train"] == 60
    assert str(tmp_path / "runs") not in json.dumps(json.loads(text)["config"])
