"""A run that fails leaves nothing in the ledger."""

import pytest

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.ledger import read_all
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from tests.runs import files, small


def test_a_failed_run_leaves_no_record_and_no_file(tmp_path, monkeypatch):
    def encode(*_, **__):
        raise ValueError("this encoder is broken")

    monkeypatch.setattr(ElmoEncoder, "encode", encode)
    with pytest.raises(ValueError, match="this encoder is broken"):
        run(compose("config", small("seed=3", "store=off", f"ledger={tmp_path / 'runs'}")))
    assert read_all(tmp_path / "runs") == ([], [])
    assert files(tmp_path / "runs") == []


def test_a_loss_that_is_not_a_number_is_one_line_that_says_what_to_lower(main_job, capsys):
    assert main_job(*small("task.training.optimizer.lr=1e30", "task.training.epochs=3", encoder="none")) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "the loss is" in last
    assert "task.training.optimizer.lr" in last
