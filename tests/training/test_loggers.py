"""What loggers write: no secret of the command line, and for wandb nothing of the machine."""

import socket
import sys

import pytest

from elmo_bench.training.loggers import open_loggers

SECRET = "hunter2-planted"
PRINTED = "printed-by-the-run"


@pytest.mark.filterwarnings("default")  # wandb's own
def test_no_secret_of_the_command_line_is_in_any_file_and_wandb_has_options_and_scores_alone(
    tmp_path, monkeypatch, capsys
):
    """A password in an address, as an option and in the config; all files of CSV, TensorBoard and wandb, offline."""
    address = f"http://user:{SECRET}@example.org/v.txt?token={SECRET}"
    started, work = tmp_path / "started-here", tmp_path / "work"
    started.mkdir()
    monkeypatch.chdir(started)
    monkeypatch.setattr(sys, "argv", [str(started / "script.py"), f"vectors={address}"])
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_CONSOLE", "wrap")
    run = {"title": "a run", "config": {"vectors": address, "seed": 0}, "group": "g", "tags": ["open"]}
    options = {"name": "csv+tensorboard+wandb", "project": "p"}
    with open_loggers(options, work=work, **run) as loggers:
        for logger in loggers:
            logger.log_metrics({"loss": 0.5}, step=1)
        print(PRINTED)
    assert PRINTED in capsys.readouterr().out
    files = [path for path in work.rglob("*") if path.is_file()]
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
    assert any(path.name.startswith("events.out.tfevents") for path in files)
    of_wandb = [path for path in files if work / "wandb" in path.parents]
    [sent] = [path for path in of_wandb if not path.name.startswith("debug")]  # wandb's logs stay here
    content = sent.read_bytes()
    for part in (socket.gethostname(), str(started), sys.executable, PRINTED, "requirements", "metadata"):
        assert part.encode() not in content, part
    for part in ("example.org/v.txt", "a run", "loss", "0.5", "open"):
        assert part.encode() in content, part
