"""A run that fails leaves its error where its record would be, and nothing else."""

import json

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.ledger import new_attempt, read_all
from elmo_bench.runner.run import run
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.runs import files, small


@pytest.fixture
def broken(monkeypatch):
    """Encoders raise while they compute layers, until `broken()` is called."""
    with monkeypatch.context() as patch:

        def encode(*_, **__):
            raise ValueError("this encoder is broken")

        patch.setattr(ElmoEncoder, "encode", encode)
        yield patch.undo


def test_a_failed_run_leaves_traceback_and_spec_and_no_record(broken, tmp_path):
    attempt = new_attempt()
    config = compose("config", small("seed=3", "store=off", f"ledger={tmp_path / 'runs'}"))
    with pytest.raises(ValueError, match="this encoder is broken"):
        run(config, attempt=attempt)
    found = read_all(tmp_path / "runs")
    assert (found.records, found.problems) == ([], [])
    [(paths, failure)] = found.failures
    assert (paths.seed, failure["seed"], failure["attempt"]) == (3, 3, attempt)
    assert (failure["error"], failure["user_error"]) == ("ValueError: this encoder is broken", False)
    assert failure["traceback"].startswith("Traceback (most recent call last)")
    assert failure["traceback"].rstrip().endswith("ValueError: this encoder is broken")
    spec = RunSpec(**failure["spec"])
    assert spec.key == RunSpec.of(config).key
    assert spec.hash == paths.hash
    assert files(paths.folder) == ["seed3.failed.json"]
    assert str(tmp_path) not in json.dumps(failure["spec"])


def test_a_loss_that_is_not_a_number_is_one_line_that_says_what_to_lower(main_job, tmp_path, capsys):
    assert main_job(*small("task.training.optimizer.lr=1e30", "task.training.epochs=3", encoder="none")) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "the loss is" in last
    assert "task.training.optimizer.lr" in last
    [(_, failure)] = read_all(tmp_path / "runs").failures
    assert failure["error"] in last
    assert failure["user_error"]


def test_a_failure_before_the_data_are_read_is_kept_for_the_sweep_that_gave_the_attempt(tmp_path):
    """Under the key of the settings, until the run comes further."""
    vectors = tmp_path / "mine.txt"
    options = small(
        f"ledger={tmp_path / 'runs'}", f"encoder.vectors={vectors}", "task.training.epochs=1", encoder="glove"
    )
    config = compose("config", options)
    for attempt in (None, "a" * 32):
        with pytest.raises(UserError, match=r"mine\.txt: no such file"):
            run(config, attempt=attempt)
        found = read_all(tmp_path / "runs").failures
        assert [failure["attempt"] for _, failure in found] == ([attempt] if attempt else [])
    [(paths, failure)] = found
    assert paths.hash == RunSpec.of(config).key
    assert failure["spec"]["contents"] is None
    vectors.write_text("the 0.1 0.2\nof 0.3 0.4\n", encoding="utf-8")
    run(config, attempt="b" * 32)
    found = read_all(tmp_path / "runs")
    assert (len(found.records), found.failures) == (1, [])
    assert len(list((tmp_path / "runs" / "open" / "ner" / "glove").iterdir())) == 1
