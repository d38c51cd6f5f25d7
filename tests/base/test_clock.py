"""A clock that stops and goes on, in one process and in the next."""

import time

from elmo_bench.base import clock
from elmo_bench.base.clock import Clock


def test_what_passes_while_it_stands_is_not_counted(monkeypatch):
    """Both times are read from the system, which this test tells."""
    wall, cpu = iter((10, 13, 50, 51)), iter((1, 7, 20, 22))
    monkeypatch.setattr(
        clock, "time", type("time", (), {"monotonic": lambda: next(wall), "process_time": lambda: next(cpu)})
    )
    found = Clock().start()
    found.stop()
    assert found.read() == [3, 6]
    found.start()
    found.stop()
    assert found.read() == [4, 8]
    found.add([100, 1000])  # of an earlier process
    assert found.read() == [104, 1008]


def test_sleep_takes_no_processor_time_and_work_does():
    found = Clock().start()
    time.sleep(0.2)
    wall, cpu = found.read()
    assert wall >= 0.2
    assert cpu < 0.1
    end = time.process_time() + 0.3
    while time.process_time() < end:
        sum(range(1000))
    assert found.read()[1] >= cpu + 0.29
