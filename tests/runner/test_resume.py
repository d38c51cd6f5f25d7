"""A killed run resumes at its last checkpoint as if it had not been killed; nothing finished is repeated."""

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import count
from types import SimpleNamespace

import pytest
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_checkpoint
from elmo_bench.base.progress import Clock
from elmo_bench.cli.entry import main_into_pipe
from elmo_bench.ledger import RunPaths, read_all
from elmo_bench.runner import prepare
from elmo_bench.runner.checkpoints import read_states
from elmo_bench.runner.train import _resume
from elmo_bench.training.callbacks import Checkpoints, History
from elmo_bench.training.loggers import _finished_epochs
from elmo_bench.training.module import HeadTraining
from tests.runs import ROOT, first_ones, result, run_small, small

EPOCHS = 8
LONG = (f"task.training.epochs={EPOCHS}", "task.training.patience=100")
PATIENCE = 120.0  # seconds until a subprocess must have done its part


def start(folder, *options):
    """`python run.py` in a process of its own, in `folder`."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *options, f"ledger={folder / 'runs'}"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip


def kill_as_soon_as(process, something_is_there):
    """SIGKILL; what the process had said on standard error."""
    ends = time.monotonic() + PATIENCE
    while not something_is_there():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < ends
        time.sleep(0.02)
    process.kill()
    said = process.communicate()[1]
    assert process.returncode == -signal.SIGKILL
    return said


def epochs_said(text):
    return [int(number) for number in re.findall(rf"epoch +(\d+)/{EPOCHS}", text)]


@pytest.mark.slow
def test_a_killed_run_goes_on_and_gives_the_scores_of_an_uninterrupted_one(tmp_path):
    whole = run_small(tmp_path / "whole", *LONG)
    runs = tmp_path / "runs"
    process = start(tmp_path, *small(*LONG))
    said = kill_as_soon_as(process, lambda: any(runs.rglob("last.ckpt")))
    assert read_all(runs) == ([], [])
    [last] = runs.rglob("last.ckpt")
    done = torch.load(last, weights_only=True)["epoch"] + 1  # epochs in the checkpoint
    assert 1 <= done < EPOCHS, f"killed too late; it said: {said}"
    process = start(tmp_path, *small(*LONG))
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 0, said
    assert f"resuming after epoch {done}" in said
    assert epochs_said(said) == list(range(done + 1, EPOCHS + 1))
    [record] = read_all(runs).records
    assert result(record) == result(whole)
    assert record.epochs.run == EPOCHS
    assert not list(runs.rglob("*.ckpt"))
    assert not list(runs.rglob("*.lock"))


@pytest.mark.parametrize("epochs", first_ones([1, 2], 1))  # with more to train, or only to score
def test_what_was_spent_before_a_kill_counts_once_and_changed_code_starts_anew(tmp_path, monkeypatch, capsys, epochs):
    runs, other = tmp_path / "runs", tmp_path / "other"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        wait, ends = Checkpoints.on_train_epoch_end, count(1)

        def stop(*given):
            wait(*given)
            if next(ends) == epochs:
                raise KeyboardInterrupt

        patch.setattr(Checkpoints, "on_train_epoch_end", stop)
        run_small(runs)
    [last] = runs.rglob("last.ckpt")
    state = torch.load(last, weights_only=True)
    [history] = [own for own in state["callbacks"].values() if "clocks" in own]
    history["clocks"] = {name: [1000.0, 1000.0] for name in history["clocks"]}
    history["started_with"] |= {"torch": "1.0"}
    torch.save(state, last)
    shutil.copytree(runs, other)
    capsys.readouterr()
    record = run_small(runs)
    assert "it was started with elmo-bench" in " ".join(capsys.readouterr().err.split())
    assert record.environment.started_with["torch"] == "1.0" != record.environment.packages["torch"]
    cost = record.cost
    spent = (cost.seconds, cost.cpu_seconds, cost.train_seconds, cost.train_cpu_seconds)
    assert all(1000 <= seconds < 1500 for seconds in spent)
    history["code"] = {"encoder": "0"}
    torch.save(state, other / last.relative_to(runs))
    capsys.readouterr()
    assert run_small(other).cost.seconds < 1000
    assert "starts anew (the code of its encoder or task has changed)" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("at", [(HeadTraining, "training_step"), (prepare, "prepare")], ids=["training", "reading"])
def test_a_signal_ends_with_a_message_and_its_exit_code(tmp_path, monkeypatch, capsys, number, at):
    whole = getattr(*at)

    def step(*given):
        signal.raise_signal(number)
        return whole(*given)

    monkeypatch.setattr(*at, step)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Lightning changes it, and a shell may have
    try:
        assert main_into_pipe(["run", *small(f"ledger={tmp_path}", encoder="none")]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err.endswith("elmo-bench: interrupted. Give the same command again to go on.\n")


def stopped_before_scores(ledger, *overrides):
    """A run that stops when it has trained, with what a kill there would leave."""

    def stop(*_, **__):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("elmo_bench.runner.evaluate.evaluate", stop)
        run_small(ledger, *overrides)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The ledger of such a run with a log."""
    ledger = tmp_path_factory.mktemp("stopped")
    stopped_before_scores(ledger, "logger=csv")
    return ledger


def test_a_resumed_run_goes_on_in_the_same_log(tmp_path, stopped):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    run_small(tmp_path, "logger=csv")
    [log] = tmp_path.rglob("metrics.csv")
    rows = list(csv.DictReader(log.read_text(encoding="utf-8").splitlines()))
    assert [row["epoch"] for row in rows if row["loss"]] == ["0", "1"] and rows[-1]["test_f1"]
    assert len(list(tmp_path.rglob("seed0/log*"))) == 1


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([], 0),
        (["0.2,0,,0,"], 0),
        (["0.2,0,,0,", ",0,17.5,0,"], 2),
        (["0.2,0,,0,", ",0,17.5,0,", "0.3,1,,1,"], 2),
        (["0.2,0,,0,", ",0,17.5,0,", "0.3,1,,1,", ",1,,1,0.5"], 2),
        (["0.2,0,,0,", ",0,17.5,0,", "0.3,1,,1,", ",1,9.5,1,"], 4),
        (["0.2,0,,0,", ",0,17.5,0,", "0.3,1"], 2),
    ],
)
def test_a_log_goes_on_after_its_last_epoch(rows, kept):
    header = "dev_f1,epoch,loss,step,test_f1"
    text = "".join(f"{line}\n" for line in [header, *rows])
    assert _finished_epochs(text).splitlines() == [header, *rows[:kept]]
    assert _finished_epochs("") == ""


@pytest.mark.slow
def test_killed_after_early_stopping_trains_no_further_epoch(tmp_path):
    options = ("task.training.epochs=30", "task.training.patience=1", "task.training.optimizer.lr=1e-7")
    whole = run_small(tmp_path / "whole", *options)
    assert whole.epochs.run < 30
    stopped_before_scores(tmp_path / "killed", *options)
    assert result(run_small(tmp_path / "killed", *options)) == result(whole)


@pytest.mark.slow
def test_a_kill_while_overwriting_loses_nothing(tmp_path, capsys, elmo_run):
    """The old record, head and predictions stand until the new ones are whole, and overwriting is resumed too."""
    ledger, whole = elmo_run
    shutil.copytree(ledger, tmp_path, dirs_exist_ok=True)
    paths = RunPaths.of(tmp_path, whole)
    kept = {path.name: path.read_bytes() for path in paths.work.iterdir()}
    assert kept.keys() >= {"head.safetensors", "dev.predictions.conll", "test.predictions.conll"}
    stopped_before_scores(tmp_path, "overwrite=true")
    assert read_all(tmp_path) == ([whole], [])
    assert kept.items() <= {path.name: path.read_bytes() for path in paths.work.iterdir()}.items()
    capsys.readouterr()
    again = run_small(tmp_path, "overwrite=true")
    assert "resuming after epoch 2" in " ".join(capsys.readouterr().err.split())
    assert result(again) == result(whole)
    assert read_all(tmp_path) == ([again], [])
    assert [path.name for path in paths.work.iterdir()] == ["head.safetensors"]  # no predictions of another head


@pytest.mark.parametrize("name", first_ones(["last.ckpt", "best.ckpt"], 1))
def test_a_damaged_checkpoint_is_no_dead_end(tmp_path, stopped, elmo_run, capsys, name):
    """A power cut can leave a checkpoint cut off, a disk can lose a byte: the run starts anew, with one line."""
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    [path] = tmp_path.rglob(name)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    metrics = path.parent / "log" / "metrics.csv"
    metrics.parent.mkdir(exist_ok=True)
    metrics.write_text("loss,step\n99.5,0\n", encoding="utf-8")  # of the training that is given up
    capsys.readouterr()
    assert result(run_small(tmp_path, "logger=csv")) == result(elmo_run[1])
    logged = metrics.read_text(encoding="utf-8")
    assert "99.5" not in logged and "loss" in logged
    assert f"starts anew ({path}: not a checkpoint, or damaged" in " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_gone_on_with_starts_anew_and_says_why(tmp_path, capsys):
    ours, theirs = ({"weight": torch.zeros(size)} for size in (2, 3))
    for name in ("last.ckpt", "best.ckpt"):
        torch.save({"state_dict": theirs, "callbacks": {}}, tmp_path / name)
    for stateful, why in ((True, "encoder.contextual.stateful=true"), (False, "written by another version")):
        stores = {"": SimpleNamespace(encoder=SimpleNamespace(stateful=stateful))}
        trained = SimpleNamespace(stores=stores, module=SimpleNamespace(state_dict=lambda: ours), history=None)
        assert _resume(trained, tmp_path / "last.ckpt", "ner elmo") is None
        assert why in " ".join(capsys.readouterr().err.split())


def test_a_checkpoint_without_all_of_the_history_starts_anew(tmp_path):
    history = History(Clock().start())
    state = history.state_dict()
    state.pop("started_with")
    for name in ("last.ckpt", "best.ckpt"):
        torch.save({"state_dict": {}, "callbacks": {history.state_key: state}}, tmp_path / name)
    with pytest.raises(UserError, match=r"last\.ckpt: written by another version of this program"):
        read_states(tmp_path / "last.ckpt", SimpleNamespace(state_dict=dict), history)


@pytest.mark.parametrize(
    ("of_best", "epochs"),
    [([50.0, 70.0], 3), ([50.0, 70.0, 60.0, 80.0], 4), ([50.0, 71.0, 60.0, 80.0], 0), ([50.0], 0)],
)
def test_a_best_checkpoint_of_the_epoch_after_the_last_one_is_resumed(tmp_path, of_best, epochs):
    """Epoch 4 was the best, and a kill came before its last.ckpt."""
    history = History(Clock().start())
    for name, dev in (("last.ckpt", [50.0, 70.0, 60.0]), ("best.ckpt", of_best)):
        state = history.state_dict() | {"curves": {"dev": dev}}
        torch.save({"state_dict": {}, "callbacks": {history.state_key: state}}, tmp_path / name)
    module = SimpleNamespace(state_dict=dict)
    if epochs:
        states = read_states(tmp_path / "last.ckpt", module, history)
        assert len(states[history.state_key]["curves"]["dev"]) == epochs
        assert read_checkpoint(tmp_path / "last.ckpt")["callbacks"] == states  # as Lightning will read it
    else:
        with pytest.raises(UserError, match=r"best\.ckpt is not of its best epoch"):
            read_states(tmp_path / "last.ckpt", module, history)
