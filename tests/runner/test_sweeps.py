"""Sweeps that are killed, and sweeps that share a ledger: every run is done, none of them twice."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from elmo_bench.ledger import read_failures, read_ledger
from tests.runs import ROOT, small

# Twelve runs of a second or so.
SWEEP = [
    "-m", "encoder=none,glove", "seed=0,1,2", "task.training.optimizer.lr=0.001,0.002",
    *(option for option in small("trainer.threads=1", encoder="none") if not option.startswith("encoder=")),
]  # fmt: skip
RUNS = 12


def start(folder):
    """The sweep in a process group of its own, in `folder`."""
    command = [sys.executable, str(ROOT / "run.py"), *SWEEP, f"ledger={folder / 'runs'}"]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def check(folder):
    """Every run has one record, done once, and nothing else is left."""
    assert len(read_ledger(folder / "runs")) == RUNS
    assert read_failures(folder / "runs") == []
    said = (folder / "log").read_text(encoding="utf-8")
    assert said.count(": done: ") <= RUNS  # a kill may come between the record and the line
    assert not [path for path in (folder / "runs").rglob("*") if path.suffix in (".lock", ".lease", ".ckpt")]


def test_a_sweep_over_files_of_one_name_leaves_no_run_out(main_job, tmp_path):
    for folder, numbers in (("a", "0.1 0.2"), ("b", "0.3 0.4")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "vectors.txt").write_text(f"the {numbers}\nof {numbers}\n", encoding="utf-8")
    files = f"encoder.vectors={tmp_path}/a/vectors.txt,{tmp_path}/b/vectors.txt"
    options = small("-m", files, "data.max_train=10", "task.training.epochs=1", encoder="glove")
    assert main_job(*options) == 0
    assert len({record["checksums"]["vectors"] for record in read_ledger(tmp_path / "runs")}) == 2


def test_what_is_left_to_others_is_counted_at_the_end(main_job, tmp_path, capsys):
    """One run of two is another machine's, as its lease says; that has not failed."""
    options = small("seed=0,1", "data.max_train=10", "task.training.epochs=1", encoder="none")
    assert main_job("-m", *options) == 0
    assert "left to" not in capsys.readouterr().err
    [record] = (tmp_path / "runs").rglob("seed1.json")
    record.with_suffix(".lease").touch()
    record.unlink()
    assert main_job("-m", *options) == 0
    said = capsys.readouterr()
    assert "another machine is working on this run: left to it" in said.out
    assert said.err.strip().startswith("1 run was left to other processes; `python -m elmo_bench status`")


@pytest.mark.slow
def test_a_sweep_that_is_killed_five_times_does_every_run_once(tmp_path):
    rng, records = random.Random(0), tmp_path / "runs"
    inodes: dict = {}
    for wanted in sorted(rng.sample(range(RUNS - 3), 5)):
        process = start(tmp_path)
        # At some moment of a run, or of starting.
        deadline = time.monotonic() + 300
        while len(list(records.rglob("seed*.json"))) < wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.5))
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        found = {path: path.stat().st_ino for path in records.rglob("seed*.json")}
        assert inodes.items() <= found.items()  # none was written again
        inodes = found
    assert start(tmp_path).wait(timeout=600) == 0
    assert inodes.items() <= {path: path.stat().st_ino for path in records.rglob("seed*.json")}.items()
    check(tmp_path)


@pytest.mark.slow
def test_two_processes_share_a_ledger(tmp_path):
    processes = [start(tmp_path) for _ in range(2)]
    assert [process.wait(timeout=600) for process in processes] == [0, 0]
    # What one left to the other while it ran is done by the end.
    check(tmp_path)
    said = (tmp_path / "log").read_text(encoding="utf-8")
    assert said.count(": done: ") == RUNS
    assert "left to it" in said or "already in the ledger" in said
