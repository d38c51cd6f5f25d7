"""A clock that stops and goes on, in one process and in the next."""

from types import SimpleNamespace

from elmo_bench.base import progress
from elmo_bench.base.progress import Clock


def test_what_passes_while_it_stands_is_not_counted(monkeypatch):
    """Both times are read from the system, which this test tells."""
    wall, cpu = iter((10, 13, 50, 51)), iter((1, 7, 20, 22))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(wall), process_time=lambda: next(cpu)))
    clock = Clock().start()
    clock.stop()
    assert clock.read() == [3, 6]
    clock.start()
    clock.stop()
    assert clock.read() == [4, 8]
    clock.add([100, 1000])  # of an earlier process
    assert clock.read() == [104, 1008]
