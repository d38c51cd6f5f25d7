"""`logger=wandb` for real, offline: one wandb run for each run, closed also on failure."""

import pytest

from elmo_bench.ledger import read_all
from tests.runs import small


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # wandb's own
def test_one_finished_offline_run_a_run(main_job, tmp_path, monkeypatch):
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    codes = []
    finish = wandb.sdk.wandb_run.Run.finish
    end = lambda run, exit_code=None, **k: (codes.append(exit_code), finish(run, exit_code, **k))  # noqa: E731
    monkeypatch.setattr(wandb.sdk.wandb_run.Run, "finish", end)
    started = []
    init = wandb.init
    monkeypatch.setattr(wandb, "init", lambda **given: (started.append(given), init(**given))[1])
    debug = ["logger=wandb", "experiment=debug", "task.training.epochs=3"]
    assert main_job(*small(*debug, "task.training.optimizer.lr=1e30", encoder="none")) == 2
    assert main_job(*small(*debug, "task.training.optimizer.lr=0.001", encoder="none")) == 0
    assert len(read_all(tmp_path / "runs").records) == 1
    folders = list((tmp_path / "runs").rglob("offline-run-*"))
    assert len([folder for folder in folders if folder.is_dir()]) == 2
    assert len({folder.parents[1] for folder in folders}) == 2  # each in its own run's folder
    assert [code for code in codes if code is not None] == [1, 0]
    assert [(given["group"], given["tags"]) for given in started] == [("debug", ["open", "ner", "none"])] * 2
    assert wandb.run is None
