"""Real sweeps that are killed, and sweeps that share a ledger: every run is made, none of them twice."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from elmo_bench.ledger import read_all
from tests.runs import ROOT, small

# Twelve runs of a second or so.
SWEEP = [
    "-m", "encoder=none,glove", "seed=0,1,2", "task.training.optimizer.lr=0.001,0.002", "launcher.jobs=2",
    *(option for option in small(encoder="none") if not option.startswith("encoder=")),
]  # fmt: skip
RUNS = 12


def start(folder):
    """The sweep in a process group of its own, in `folder`."""
    command = [sys.executable, str(ROOT / "run.py"), *SWEEP, f"ledger={folder / 'runs'}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def check(folder):
    """Every run has one record, made once, and nothing else is left."""
    found = read_all(folder / "runs")
    assert len(found.records) == RUNS
    assert (found.failures, found.problems) == ([], [])
    printed = (folder / "log").read_text(encoding="utf-8")
    assert printed.count(": done: ") <= RUNS  # a kill may come between the record and the line
    assert not [path for path in (folder / "runs").rglob("*") if path.suffix in (".lock", ".ckpt")]


def kill(process, records, wanted, rng):
    """SIGKILL when there are so many records, at some moment of a run or of starting."""
    deadline = time.monotonic() + 300
    while len(list(records.rglob("seed*.json"))) < wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(rng.uniform(0, 0.5))
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# With the kills of `embed` (tests/elmo/embed) and `pretrain` (tests/pretraining), forty.
@pytest.mark.slow
def test_two_processes_of_which_one_is_killed_ten_times_share_a_ledger(tmp_path):
    rng = random.Random(1)
    processes = [start(tmp_path) for _ in range(2)]
    for wanted in sorted(rng.choices(range(RUNS - 4), k=10)):
        number = rng.randrange(2)
        kill(processes[number], tmp_path / "runs", wanted, rng)
        processes[number] = start(tmp_path)
    assert [process.wait(timeout=600) for process in processes] == [0, 0]
    check(tmp_path)
