"""How many threads a job takes, and that pieces of work do not depend on it."""

import os
import threading

import pytest
import torch

from elmo_bench.base import machine as threads
from elmo_bench.base import memory


def test_as_many_as_there_are_idle_cores_unless_the_user_says_otherwise(monkeypatch, capsys):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "free_cores", lambda: 3)
    monkeypatch.setattr(threads, "cores", lambda: 4)
    assert threads.choose_threads(None, "embed") == 3
    assert capsys.readouterr().err == "embed: 3 threads, as 3 of 4 cores are idle\n"
    assert threads.choose_threads(2, "embed") == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert threads.choose_threads(None, "embed") == 5
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system cannot forget a peak")
def test_the_peak_of_memory_is_measured_anew():
    """As a second run of one process needs it."""
    bytearray(2**28)
    before = memory.peak_memory()
    memory.forget_peak_memory()
    assert memory.peak_memory() < before - 2**27


@pytest.mark.parametrize(
    ("group", "limits", "found"),
    [
        ("0::/", {"": (4, 800)}, (4, 710)),
        ("9:memory:/v1\n0::/slurm/job/step", {"slurm/job": (2, 300), "slurm": (3, 900)}, (2, 210)),
        ("0::/slurm/job", {"": (1, 200), "slurm/job": (2, 300)}, (1, 110)),
        ("0::/../../other", {"../../other": (1, 200)}, (64, 2**20)),
        ("", {}, (64, 2**20)),
    ],
)
def test_the_smallest_limit_of_the_control_groups_around_this_process_holds(
    tmp_path, monkeypatch, group, limits, found
):
    root = tmp_path / "a" / "b" / "cgroup"
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(f"{group}\n")
    (tmp_path / "proc" / "meminfo").write_text("MemAvailable: 1024 kB\n")
    root.mkdir(parents=True)
    for name, (quota, most) in limits.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "cpu.max").write_text(f"{quota * 1000} 1000\n")
        (root / name / "memory.max").write_text(f"{most}\n")
        (root / name / "memory.current").write_text("100\n")
        (root / name / "memory.stat").write_text("inactive_file 10\n")
    monkeypatch.setattr(threads, "CGROUP", root)
    for module in (threads, memory):
        monkeypatch.setattr(module, "PROC", tmp_path / "proc")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    assert (threads.cores(), memory.available_memory()) == found


@pytest.mark.parametrize(
    ("visible", "count"),
    [("", 0), ("NoDevFiles", 0), ("0,-1,1", 1), ("0, 1", 2), ("GPU-8932f937,MIG-1f2e", 2), ("-1", 0)],
)
def test_gpus_are_counted_as_cuda_does(monkeypatch, visible, count):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert threads.gpus() == count


def test_each_piece_runs_on_one_thread():
    def where(piece):
        return piece, torch.get_num_threads(), threading.current_thread().name

    with threads.use_threads(2):
        found = list(threads.parallel_map(where, range(5)))
        assert torch.get_num_threads() == 2
    assert [row[:2] for row in found] == [(piece, 1) for piece in range(5)]
    assert threading.current_thread().name not in {row[2] for row in found}
    with threads.use_threads(1):
        assert {row[2] for row in threads.parallel_map(where, range(5))} == {threading.current_thread().name}
