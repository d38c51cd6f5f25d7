"""What loggers write: no secret of the command line, and for wandb nothing of the machine."""

import os
import re
import socket
import subprocess
import sys

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


def test_no_secret_of_the_command_line_is_in_any_file_and_wandb_has_options_and_scores_alone(tmp_path):
    """A password in an address, as an option and in the config; all files of CSV, TensorBoard and wandb, offline."""
    address = f"http://user:{SECRET}@example.org/v.txt?token={SECRET}"
    script = tmp_path / "started-here" / "script.py"
    script.parent.mkdir()
    script.write_text(CODE, encoding="utf-8")
    work = tmp_path / "work"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WANDB_MODE": "offline", "WANDB_CONSOLE": "wrap"}
    done = subprocess.run(
        [sys.executable, str(script), str(work), address],
        cwd=script.parent, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, PRINTED in done.stdout) == (0, True), done.stderr
    files = [path for path in work.rglob("*") if path.is_file()]
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
    assert any(path.name.startswith("events.out.tfevents") for path in files)
    of_wandb = [path for path in files if work / "wandb" in path.parents]
    [sent] = [path for path in of_wandb if not path.name.startswith("debug")]  # wandb's logs stay here
    content = sent.read_bytes()
    host = re.escape(socket.gethostname().encode())  # as a word: a run's random name may hold a short one
    assert not re.search(rb"(?<![a-z0-9])" + host + rb"(?![a-z0-9])", content)
    for part in (str(script.parent), sys.executable, PRINTED, "requirements", "metadata"):
        assert part.encode() not in content, part
    for part in ("example.org/v.txt", "a run", "loss", "0.5", "open"):
        assert part.encode() in content, part
