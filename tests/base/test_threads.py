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
