"""One process per run, whatever becomes of the process."""

import errno
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import HeldElsewhere, RunPaths, holder_of, is_held, run_lock
from tests.ledger.records import make_record

HOLD = """
import sys
from pathlib import Path
from elmo_bench.ledger import RunPaths, run_lock
with run_lock(RunPaths(Path(sys.argv[1]), "open", "x", "e", "0123456789ab", 0)):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path):
    return RunPaths(tmp_path, "open", "x", "e", "0123456789ab", 0)


@pytest.fixture
def holder(paths):
    """Another process that holds the lock until it is killed."""
    command = [sys.executable, "-c", HOLD, str(paths.ledger)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_second_process_is_told_and_a_kill_frees_the_run(paths, holder):
    assert is_held(paths)
    with pytest.raises(HeldElsewhere, match="another process is working on this run: left to it"), run_lock(paths):
        pass
    assert paths.lock.exists()
    holder.kill()
    holder.wait()
    assert paths.lock.exists()
    assert not is_held(paths)
    with run_lock(paths):
        assert is_held(paths)


def test_who_has_the_lock_for_a_moment_does_not_take_the_run(paths):
    """As `is_held` has it, which asks by taking it."""
    paths.folder.mkdir(parents=True)
    asks = FileLock(paths.lock, thread_local=False)
    asks.acquire()
    threading.Timer(0.05, asks.release).start()
    with run_lock(paths):
        assert is_held(paths)


def test_the_locked_file_says_who_holds_it_however_often_it_is_asked_for(paths):
    spec = make_record()["spec"]
    with run_lock(paths, spec=spec):
        for _ in range(3):
            assert holder_of(paths) == {"spec": spec, "seed": 0, "machine": platform.node(), "pid": os.getpid()}
            with pytest.raises(HeldElsewhere), run_lock(paths):
                pass
    paths.lock.write_text("left by a killed process")
    assert holder_of(paths) is None


def test_a_disk_that_cannot_lock_is_one_line(paths, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(UserError, match=r"seed0\.lock: cannot be locked \(Function not implemented\)"), run_lock(paths):
        pass


def test_the_file_goes_with_the_lock(paths):
    assert not is_held(paths)
    with pytest.raises(ValueError, match="inside"), run_lock(paths):
        raise ValueError("inside")
    assert not paths.lock.exists()
    with run_lock(paths):
        assert paths.lock.exists()


def test_other_seeds_are_free(paths):
    with run_lock(paths), run_lock(RunPaths(paths.ledger, "open", "x", "e", paths.hash, 1)):
        pass


def test_a_place_that_cannot_be_locked_is_one_line(tmp_path):
    (tmp_path / "open").write_text("a file where a folder should be")
    with (
        pytest.raises(UserError, match="a file is where a folder is needed"),
        run_lock(RunPaths(tmp_path, "open", "x", "e", "0" * 12, 0)),
    ):
        pass
