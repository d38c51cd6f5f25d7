"""Cores and memory to spare, read from files such as the system's."""

import os

from elmo_bench.base import machine


def test_this_machine_has_something_to_spare():
    assert 1 <= machine.free_cores(0.01) <= machine.cores() <= (os.cpu_count() or 1)
    assert machine.available_memory() > 2**20
    assert machine.resident_memory(os.getpid()) > 2**20
    assert machine.resident_memory(2**30) == 0  # no such process
