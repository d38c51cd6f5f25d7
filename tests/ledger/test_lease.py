"""Machines that share a folder but no locks: one of them does the run, and a dead one's run is taken over."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elmo_bench.ledger import HeldElsewhere, RunPaths, is_held, lease, read_all, read_lease, run_lock

ROOT = Path(__file__).parents[2]
OTHER = "fedcba9876543210" * 2
# A machine of its own: another name, and locks that the others do not see.
MACHINE = """
import sys, time
from pathlib import Path
from elmo_bench.ledger import lease
lease.MACHINE = sys.argv[2]
path = Path(sys.argv[1])
while time.time() < float(sys.argv[3]):
    time.sleep(0.001)
with lease.hold_lease(path, lease.new_lease(attempt=sys.argv[4], spec=None, seed=0), clock=time.time()) as held:
    print(held, flush=True)
    if held:
        sys.stdin.read()  # until all have said what they got
"""


@pytest.fixture
def paths(tmp_path):
    return RunPaths(tmp_path, "open", "x", "e", "0123456789ab", 0)


def left(paths, *, age, machine="other boot"):
    """A lease whose holder last touched it `age` seconds ago."""
    paths.folder.mkdir(parents=True)
    paths.lease.write_text(
        json.dumps(lease.new_lease(attempt=OTHER, spec=None, seed=0) | {"machine": machine, "pid": 1})
    )
    os.utime(paths.lease, (time.time() - age,) * 2)


def test_a_lease_says_who_works_and_goes_with_the_lock(paths, make_record):
    spec = make_record()["spec"]
    with run_lock(paths, attempt=OTHER, spec=spec):
        found = read_lease(paths.lease)
        assert (found["pid"], found["attempt"], found["spec"], found["seed"]) == (os.getpid(), OTHER, spec, 0)
        assert [(run, kept) for run, kept in read_all(paths.ledger).leases] == [(paths, found)]
    assert list(paths.folder.iterdir()) == []


@pytest.mark.parametrize("age", [0, 590])
def test_another_machines_run_is_left_to_it(paths, age):
    left(paths, age=age)
    assert is_held(paths)
    with pytest.raises(HeldElsewhere, match=r"another machine \(other\) is working on this run"), run_lock(paths):
        pass
    assert read_lease(paths.lease)["attempt"] == OTHER
    assert not paths.lock.exists()


@pytest.mark.parametrize(("age", "machine"), [(610, "other boot"), (-86_400, "other boot"), (0, lease.MACHINE)])
def test_ten_minutes_without_a_heartbeat_a_date_in_the_future_or_a_dead_process_here_free_the_run(paths, age, machine):
    left(paths, age=age, machine=machine)
    assert not is_held(paths)
    with run_lock(paths):
        assert read_lease(paths.lease)["attempt"] != OTHER
    assert list(paths.folder.iterdir()) == []


def test_a_lease_that_is_being_written_is_a_lease(paths):
    paths.folder.mkdir(parents=True)
    paths.lease.touch()
    with pytest.raises(HeldElsewhere, match="another machine"), run_lock(paths):
        pass


@pytest.mark.parametrize("content", ["{}", "[]", "3", '{"machine": "other boot"}', "[" * 100_000, "no machine"])
def test_a_lease_that_holds_something_else_says_nothing_of_who_works(paths, content):
    paths.folder.mkdir(parents=True)
    if content == "no machine":
        content = json.dumps({**lease.new_lease(attempt=OTHER, spec=None, seed=0), "machine": " "})
    paths.lease.write_text(content)
    assert read_lease(paths.lease) is None
    assert is_held(paths)
    with pytest.raises(HeldElsewhere, match="another machine"), run_lock(paths):
        pass


def test_the_heart_beats(paths, monkeypatch):
    monkeypatch.setattr(lease, "BEAT", 0.02)
    with run_lock(paths):
        os.utime(paths.lease, (0, 0))
        deadline = time.monotonic() + 20
        while paths.lease.stat().st_mtime < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert time.time() - paths.lease.stat().st_mtime < 60


def test_a_lease_that_was_taken_over_meanwhile_is_not_touched(paths):
    with run_lock(paths):
        paths.lease.write_text(json.dumps({**read_lease(paths.lease), "attempt": OTHER}))
    assert read_lease(paths.lease)["attempt"] == OTHER


@pytest.mark.parametrize("dead", [False, True])
def test_of_machines_that_start_at_once_one_gets_the_run(tmp_path, paths, dead):
    if dead:
        left(paths, age=700)
    paths.folder.mkdir(parents=True, exist_ok=True)
    start = str(time.time() + 2)
    machines = [
        subprocess.Popen(
            [sys.executable, "-c", MACHINE, str(paths.lease), f"machine{number}", start, f"{number:032}"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(4)
    ]  # fmt: skip
    said = sorted(machine.stdout.readline() for machine in machines)
    for machine in machines:
        machine.communicate()
    assert said == ["False\n"] * 3 + ["True\n"]
    assert list(paths.folder.iterdir()) == []
