"""What loggers write: no secret of the command line, and for wandb nothing of the machine."""

import csv
import os
import re
import runpy
import socket
import subprocess
import sys
import time
import warnings
from contextlib import suppress

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.training.loggers import open_loggers, start_anew
from tests.runs import ROOT

SECRET = "hunter2-planted"
PRINTED = "printed-by-the-run"
CODE = f"""
import sys
from pathlib import Path
from elmo_bench.training.loggers import open_loggers

run = {{"title": "a run", "config": {{"vectors": sys.argv[2], "seed": 0}}, "group": "g", "tags": ["open"]}}
options = {{"name": "csv+tensorboard+wandb", "project": "p"}}
with open_loggers(options, work=Path(sys.argv[1]), **run) as loggers:
    for logger in loggers:
        logger.log_metrics({{"loss": 0.5}}, step=1)
    print("{PRINTED}")
"""


def in_a_program(script, *words):
    """Run CODE in a program of its own, as a person does."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WANDB_MODE": "offline", "WANDB_CONSOLE": "wrap"}
    command = [sys.executable, str(script), *words]
    done = subprocess.run(command, cwd=script.parent, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, PRINTED in done.stdout) == (0, True), done.stderr


def in_a_copy(script, *words):
    """The same in a copy of this process, which has imported torch and Lightning: wandb sees that script's command."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it has several threads; the copy uses none of them
        child = os.fork()
    if child == 0:
        with script.with_suffix(".log").open("w") as log, suppress(BaseException):
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            sys.stdout = sys.stderr = log
            os.chdir(script.parent)
            os.environ |= {"WANDB_MODE": "offline", "WANDB_CONSOLE": "wrap"}
            sys.argv = [str(script), *words]
            runpy.run_path(str(script), run_name="__main__")
            log.flush()
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    printed = script.with_suffix(".log").read_text(encoding="utf-8")
    assert (status, PRINTED in printed) == (0, True), printed


@pytest.mark.parametrize("run", [in_a_copy, pytest.param(in_a_program, marks=pytest.mark.slow)])
def test_no_secret_of_the_command_line_is_in_any_file_and_wandb_has_options_and_scores_alone(tmp_path, run):
    """A password in an address, as an option and in the config; all files of CSV, TensorBoard and wandb, offline."""
    address = f"http://user:{SECRET}@example.org/v.txt?token={SECRET}"
    script = tmp_path / "started-here" / "script.py"
    script.parent.mkdir()
    script.write_text(CODE, encoding="utf-8")
    work = tmp_path / "work"
    run(script, str(work), address)
    files = [path for path in work.rglob("*") if path.is_file()]
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
    assert any(path.name.startswith("events.out.tfevents") for path in files)
    of_wandb = [path for path in files if work / "wandb" in path.parents]
    [sent] = [path for path in of_wandb if not path.name.startswith("debug")]  # wandb's logs stay here
    deadline = time.monotonic() + 20
    while b"0.5" not in sent.read_bytes() and time.monotonic() < deadline:
        time.sleep(0.1)  # wandb's service may write after the run has ended
    content = sent.read_bytes()
    host = re.escape(socket.gethostname().encode())  # as a word: a run's random name may hold a short one
    assert not re.search(rb"(?<![a-z0-9])" + host + rb"(?![a-z0-9])", content)
    for part in (str(script.parent), sys.executable, PRINTED, "requirements", "metadata"):
        assert part.encode() not in content, part
    for part in ("example.org/v.txt", "a run", "loss", "0.5", "open"):
        assert part.encode() in content, part


def test_a_training_that_starts_anew_logs_anew_and_one_that_goes_on_goes_on(tmp_path):
    file = tmp_path / "log" / "metrics.csv"
    run = {"work": tmp_path, "title": "", "config": {}, "group": None, "tags": ()}
    for resumed, logged, losses in (
        (False, [1.0, 2.0], [1.0, 2.0]),
        (True, [3.0], [1.0, 2.0, 3.0]),
        (False, [4.0], [4.0]),
    ):
        with open_loggers({"name": "csv"}, **run) as loggers:
            if not resumed:
                start_anew(loggers)
            [logger] = loggers
            for loss in logged:
                logger.log_metrics({"loss": loss}, 0)
                logger.save()
        (tmp_path / "last.ckpt").touch()
        with file.open(encoding="utf-8") as rows:
            assert [float(row["loss"]) for row in csv.DictReader(rows)] == losses


@pytest.mark.parametrize("name", ["csv", "none", "tensorboard", "wandb"])
def test_an_option_that_a_logger_lacks_is_refused(tmp_path, name):
    options = {"name": name, "colour": "red", **({"project": "p"} if name == "wandb" else {})}
    logging = open_loggers(options, work=tmp_path, title="", config={}, group=None, tags=())
    with pytest.raises(UserError, match=f"^logger.colour: {name} has no such option. Remove it.$"), logging:
        pass
