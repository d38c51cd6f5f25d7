"""Cores and memory to spare, read from files such as the system's."""

import os

import pytest

from elmo_bench.base import machine


@pytest.fixture
def system(tmp_path, monkeypatch):
    """`system(path, text)`: a file of /proc or of the container; both folders are empty at first."""
    monkeypatch.setattr(machine, "_PROC", tmp_path)
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    return lambda name, text: (tmp_path / name).write_text(text)


def test_a_container_may_have_fewer_cores_than_the_machine(system):
    assert machine.cores() == 4
    for quota, cores in (("max 100000\n", 4), ("150000 100000\n", 2), ("50000 100000\n", 1), ("900000 100000\n", 4)):
        system("cpu.max", quota)
        assert machine.cores() == cores


def test_memory_is_the_machines_or_the_containers(system):
    assert machine.available_memory() > 2**60
    system("meminfo", "MemTotal: 9 kB\nMemAvailable:    1000 kB\n")
    assert machine.available_memory() == 1_024_000
    system("memory.max", "900000\n")
    system("memory.current", "800000\n")
    system("memory.stat", "inactive_file 1000\n")
    assert machine.available_memory() == 101_000


def test_this_machine_has_something_to_spare():
    assert 1 <= machine.free_cores(0.01) <= machine.cores() <= (os.cpu_count() or 1)
    assert machine.available_memory() > 2**20
    assert machine.resident_memory(os.getpid()) > 2**20
    assert machine.resident_memory(2**30) == 0  # no such process
