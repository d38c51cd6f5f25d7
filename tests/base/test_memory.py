"""Freed memory stays with the process, so that the system need not clear its pages again."""

import ctypes
import subprocess
import sys

import pytest

from elmo_bench.base import memory
from elmo_bench.base.memory import keep_freed_memory

GLIBC = hasattr(ctypes.CDLL(None), "gnu_get_libc_version") if sys.platform == "linux" else False
FAULTS = """
import resource, sys
import numpy as np
from elmo_bench.base.memory import keep_freed_memory
if "keep" in sys.argv:
    keep_freed_memory()

def step():
    parts = [np.ones(2**20) for _ in range(3)]  # 8 MiB each
    return sum(map(len, parts))

step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not GLIBC, reason="another C library")
def test_steps_do_not_ask_the_system_for_the_same_memory_again():
    plain, kept = (
        int(subprocess.run([sys.executable, "-c", FAULTS, *more], capture_output=True, check=True, text=True).stdout)
        for more in ([], ["keep"])
    )
    assert kept < plain / 10


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    keep_freed_memory()
