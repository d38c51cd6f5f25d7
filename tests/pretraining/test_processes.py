"""Work on several processes: results in order, errors that reach the user, nothing that outlives the parent."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.pretraining.processes import in_order

SLEEPERS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it
from elmo_bench.pretraining.processes import in_order
work = float(sys.argv[1])
for _ in in_order(time.sleep, [0, 0, work, work], 2):
    print("done", flush=True)
"""


def test_results_come_in_order_and_items_are_taken_as_they_are_needed():
    taken = []

    def items():
        for number in range(30):
            taken.append(number)
            yield number / 4

    results = in_order(math.sqrt, items(), 2)
    assert next(results) == 0
    assert len(taken) <= 4
    assert list(results) == [math.sqrt(number / 4) for number in range(1, 30)]


def test_slow_items_come_before_quick_ones_that_follow():
    def sleeps():
        yield from (0.3, 0, 0, 0)

    assert list(in_order(_sleep, sleeps(), 2)) == [0.3, 0, 0, 0]


def _sleep(seconds):
    time.sleep(seconds)
    return seconds


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_of_the_work_is_raised_here(processes):
    results = in_order(int, ["1", "2", "no number", "4"], processes)
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="no number"):
        next(results)


def test_an_early_error_waits_for_the_items_before_it():
    results = in_order(_sleep, [0.5, -1], 2)
    assert next(results) == 0.5
    with pytest.raises(ValueError, match="must be non-negative"):
        next(results)


def test_a_process_that_is_ended_from_outside_is_one_clear_error():
    with pytest.raises(UserError, match=r"killed \(out of memory\?\)\. Try again with a lower threads="):
        list(in_order(os._exit, [1, 1, 1, 1], 2))


def test_a_single_item_starts_no_process():
    assert list(in_order(_own_id, [None], 8)) == [os.getpid()]
    assert list(in_order(_own_id, [], 8)) == []


def _own_id(_item):
    return os.getpid()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(("sent", "to_all", "work"), [(signal.SIGINT, True, 120), (signal.SIGKILL, False, 2)])
def test_no_process_outlives_the_parent(sent, to_all, work):
    """Ctrl-C reaches the parent and its processes, and no work is waited for; a kill reaches the parent alone."""
    parent = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS, str(work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert parent.stdout is not None
        assert [parent.stdout.readline(), parent.stdout.readline()] == ["done\n"] * 2  # one of each process
        assert len(_in_session(parent.pid)) >= 3
        (os.killpg if to_all else os.kill)(parent.pid, sent)
        _, said = parent.communicate(timeout=60)
        assert said.count("Traceback") == (1 if to_all else 0)
        _until(lambda: not _in_session(parent.pid))
    finally:
        if parent.poll() is None or _in_session(parent.pid):
            os.killpg(parent.pid, signal.SIGKILL)


def _until(condition):
    stop = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < stop
        time.sleep(0.02)


def _in_session(session):
    """Ids of its processes."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, its = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(its) == session and state != "Z":
                found.append(int(entry.name))
    return found
