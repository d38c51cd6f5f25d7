"""`status`: what of a sweep is done, running, failed, stale or missing."""

import pytest

from elmo_bench.__main__ import main
from elmo_bench.cli.status import readable
from elmo_bench.ledger import RunPaths, read_failures, read_ledger, run_hash, run_lock, write_failure, write_record
from elmo_bench.runner.settings import portable, settings_of
from elmo_bench.spec.config import compose
from tests.ledger.records import OUTCOMES, make_record
from tests.runs import small

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


def put(ledger, *overrides, version=1, weights="w1", created="2026-01-02T03:04:05+00:00", seconds=60.0):
    """The record of a run of today's config, without the run."""
    config = compose("config", list(overrides))
    identity = {
        "settings": settings_of(portable(config)),
        "contents": {"task_version": version, "weights": weights},
    }
    record = make_record(
        suite=config.suite.name, task=config.task.name, encoder=config.encoder.name, seed=config.seed,
        config=portable(config), identity=identity, hash=run_hash(identity), created=created,
    )  # fmt: skip
    record["cost"]["seconds"] = seconds
    paths = RunPaths.of(ledger, record)
    write_record(paths, record, OUTCOMES)
    return paths


def test_an_empty_ledger_misses_everything(status):
    code, said = status()
    assert code == 0
    assert "4 runs: 4 missing; no like run to tell the time left by" in said


def test_every_state_is_counted_and_the_time_left_told(status, ledger):
    """none: 60 s done and a stale one; glove: one failed, one running. glove's time is told by the same task: 60 s."""
    put(ledger, "encoder=none", seconds=80.0)
    put(ledger, "encoder=none", "seed=1", version=0, seconds=40.0)
    config = compose("config", ["encoder=glove"])
    paths = RunPaths(ledger, "mini", "ner", "glove", "0123456789ab", 0)
    write_failure(paths, portable(config), "Traceback (most recent call last):\n  x\nValueError: no room\n")
    config.seed = 1
    with run_lock(RunPaths(ledger, "mini", "ner", "glove", "0123456789ab", 1), portable(config)):
        _, said = status()
    assert "4 runs: 1 done, 1 running, 1 failed, 1 stale; about 3 min left, one after the other" in said
    assert "failed: task=ner encoder=glove seed=0" in said
    assert "ValueError: no room" in said
    assert "running: task=ner encoder=glove seed=1" in said
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("|")]
    assert rows[2:] == [["mini", "ner", "none", "1", "", "", "1", ""], ["mini", "ner", "glove", "", "1", "1", "", ""]]


def test_missing_and_failed_alone_as_run_py_takes_them(status, ledger):
    put(ledger, "encoder=none")
    paths = RunPaths(ledger, "mini", "ner", "glove", "0123456789ab", 0)
    write_failure(paths, portable(compose("config", ["encoder=glove"])), "KeyError: 'x'")
    _, failed = status("--failed")
    assert failed == f"task=ner encoder=glove seed=0 ledger={ledger}\n  KeyError: 'x'\n"
    _, missing = status("--missing")
    assert [line.split()[1:3] for line in missing.splitlines() if line.startswith("task=")] == [
        ["encoder=none", "seed=1"], ["encoder=glove", "seed=0"], ["encoder=glove", "seed=1"],
    ]  # fmt: skip


def test_a_seed_on_older_weights_is_stale(status, ledger):
    put(ledger, "encoder=none", weights="old")
    put(ledger, "encoder=none", "seed=1", weights="new", created="2026-02-02T03:04:05+00:00")
    _, said = status(sweep=("encoder=none", "seed=0,1"))
    assert "2 runs: 1 done, 1 stale" in said


@pytest.mark.parametrize("content", ["{}", "[]", "3"])
def test_a_lease_that_says_nothing_hinders_nothing(status, ledger, content):
    put(ledger, "encoder=none").lease.write_text(content)
    assert "1 done" in status(sweep=("encoder=none",))[1]


def test_other_settings_are_other_runs(status, ledger):
    put(ledger, "encoder=none", "task.training.epochs=2")
    put(ledger, "encoder=none", "suite=open")
    assert "1 missing" in status(sweep=("encoder=none",))[1]
    assert "1 done" in status(sweep=("encoder=none", "task.training.epochs=2"))[1]


def test_other_data_and_another_precision_are_other_runs(status, ledger):
    put(ledger, "encoder=elmo")
    for other in ("task.data.mini.seed=1", "encoder.precision=int8"):
        assert "1 missing" in status(sweep=("encoder=elmo", other))[1]
        put(ledger, "encoder=elmo", other, weights=other)
    for done in ("seed=0", "task.data.mini.seed=1", "encoder.precision=int8"):
        assert "1 runs: 1 done" in status(sweep=("encoder=elmo", done))[1]


def test_what_run_py_did_is_done(main_job, status, tmp_path):
    """For real, weights from a path: the run is found by its config, the failed one with its error."""
    options = small("seed=0,1", "task.training.epochs=1")
    assert main_job("-m", *options) == 0
    assert "2 runs: 2 done" in status(sweep=options)[1]
    broken = small("encoder.contextual._target_=tests.runner.broken.FailsToEncode")
    assert main_job(*broken) == 1
    assert len(read_ledger(tmp_path / "runs")) == 2
    assert len(read_failures(tmp_path / "runs")) == 1
    assert "ValueError: this encoder is broken" in status("--failed", sweep=broken)[1]


def test_an_error_before_anything_was_read_is_known_until_the_run_comes_further(main_job, status, tmp_path):
    vectors = tmp_path / "mine.txt"
    options = small("seed=0", f"encoder.vectors={vectors}", "task.training.epochs=1", encoder="glove")
    assert main_job("-m", *options) == 2
    assert "mine.txt: no such file" in status("--failed", sweep=options)[1]
    vectors.write_text("the 0.1 0.2\nof 0.3 0.4\n", encoding="utf-8")
    assert main_job("-m", *options) == 0
    assert "1 runs: 1 done" in status(sweep=options)[1]
    assert read_failures(tmp_path / "runs") == []
    assert len(list((tmp_path / "runs" / "mini" / "ner" / "glove").iterdir())) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give --experiment NAME"),
        (["--experiment", "table9"], "unknown experiment"),
        (["--experiment", "table1", "tsk=ner"], "unknown option 'tsk'"),
        (["--experiment", "table1", "experiment=table2"], "--experiment table1 and experiment=… are two"),
        (["seed=0,-1"], "seed=-1: give a whole number from 0"),
        (["seed=0,1.5"], "seed=1.5: give a whole number from 0"),
        (["mix.penalty=0.1,-1"], "mix.penalty=-1: give a number from 0"),
        (["mix.penalty=0.1,high"], "mix.penalty=high: give a number"),
        (["encoder.name=3"], "encoder.name=3: give a name"),
        (["encoder=glove", "encoder.name=mine"], "is for encoder=hf"),
        ([f"ledger={__file__}"], "is a file; give a folder"),
    ],
)
def test_a_mistake_is_one_line(options, said, capsys):
    assert main(["status", *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("elmo_bench status: ")
    assert said in line


def test_times():
    assert [readable(seconds) for seconds in (40, 60, 719, 12_000)] == ["40 s", "1 min", "12 min", "3 h 20 min"]
