"""Hydra's launchers as options: runs at once, each with its share of the cores, the same scores as one by one."""

import json
import os
import subprocess
import sys

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import read_failures, read_ledger
from elmo_bench.spec.config import check, compose
from tests.runs import ROOT, result, small

PLUGINS = {"joblib": "hydra_joblib_launcher", "submitit_local": "hydra_submitit_launcher"}
AT_ONCE = {"joblib": ["hydra.launcher.n_jobs=2"], "submitit_local": ["hydra.sweeper.max_batch_size=2"]}


def sweep(folder, *options):
    """`python run.py -m` in a process of its own, in `folder`."""
    command = [sys.executable, str(ROOT / "run.py"), "-m", *options, f"ledger={folder / 'runs'}"]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def options(*more):
    given = small("task.training.epochs=1", "seed=0,1,2", *more, encoder="glove")
    return [option for option in given if not option.startswith("trainer.threads")]


@pytest.mark.parametrize("launcher", ["joblib", "submitit_local", "submitit_slurm"])
def test_a_launcher_composes_and_makes_no_other_run(launcher):
    pytest.importorskip(f"hydra_plugins.{PLUGINS.get(launcher, 'hydra_submitit_launcher')}")
    assert compose("config", [f"hydra/launcher={launcher}"]) == compose("config")


def test_a_misspelt_launcher_is_one_line():
    with pytest.raises(UserError, match=r"hydra/launcher=jobli: choose one of: .*did you mean 'joblib'"):
        check("config", ["hydra/launcher=jobli"])


def test_a_launcher_that_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="needs the package hydra-joblib-launcher"):
        check("config", ["hydra/launcher=joblib"])


@pytest.mark.slow
@pytest.mark.parametrize("launcher", PLUGINS)
def test_runs_at_once_give_what_one_after_the_other_gives(tmp_path, launcher):
    """The shares: of all cores with joblib (two jobs), one thread with submitit, as it gives a task."""
    pytest.importorskip(f"hydra_plugins.{PLUGINS[launcher]}")
    cores = len(os.sched_getaffinity(0))
    threads = max(1, cores // 2) if launcher == "joblib" else 1
    for name, given in (
        ("serial", [f"trainer.threads={threads}"]),
        ("at_once", [f"hydra/launcher={launcher}", *AT_ONCE[launcher]]),
    ):
        (tmp_path / name).mkdir()
        done = sweep(tmp_path / name, *options(*given))
        assert (done.returncode, done.stderr.count("run.py:")) == (0, 0), done.stderr
    serial, at_once = (read_ledger(tmp_path / name / "runs") for name in ("serial", "at_once"))
    assert len(serial) == 3
    assert [result(record) for record in serial] == [result(record) for record in at_once]
    assert {record["environment"]["threads"] for record in at_once} == {threads}
    assert "ner on suite mini:" in done.stdout  # the table of runs that other processes made
    assert "3 (0, 1, 2)" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("launcher", PLUGINS)
def test_a_run_that_fails_elsewhere_is_listed_and_the_others_go_on(tmp_path, launcher):
    pytest.importorskip(f"hydra_plugins.{PLUGINS[launcher]}")
    given = [f"hydra/launcher={launcher}", *AT_ONCE[launcher], "task.training.optimizer.lr=0.001,1e30"]
    done = sweep(tmp_path, *options(*given, "seed=0", "task.training.epochs=3"))
    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if line.startswith("run.py: ")]
    assert "the loss is" in line
    assert "task.training.optimizer.lr=1e+30" in line
    assert (len(read_ledger(tmp_path / "runs")), len(read_failures(tmp_path / "runs"))) == (1, 1)
    assert list((tmp_path / "results" / "sweeps").glob("outcomes-*")) == []


CLAIM = """
import json, os, sys, types
from pathlib import Path
cuda = types.SimpleNamespace(is_initialized=lambda: False, device_count=lambda: int(sys.argv[2]))
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
from elmo_bench.runner import gpus
print(json.dumps([gpus.claim_gpu(Path(sys.argv[1])), os.environ.get("CUDA_VISIBLE_DEVICES")]), flush=True)
sys.stdin.read()
"""


def claims(folder, visible, count, processes):
    """What each of some processes, alive at the same time, gets."""
    environment = os.environ | ({"CUDA_VISIBLE_DEVICES": visible} if visible else {})
    command = [sys.executable, "-c", CLAIM, str(folder), str(count)]
    alive = []
    for _ in range(processes):
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        alive.append((process, json.loads(process.stdout.readline())))
    for process, _ in alive:
        process.communicate()
    return [found for _, found in alive]


def test_each_process_has_a_gpu_of_its_own_and_frees_it(tmp_path):
    assert claims(tmp_path, None, 2, 3) == [["0", "0"], ["1", "1"], [None, None]]
    assert claims(tmp_path, "4,6", 2, 2) == [["4", "4"], ["6", "6"]]
    assert claims(tmp_path, None, 1, 1) == [[None, None]]
