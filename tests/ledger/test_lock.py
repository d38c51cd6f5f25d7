"""One process per run, whatever becomes of the process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import HeldElsewhere, RunPaths, is_held, run_lock

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


def test_of_a_ledger_that_can_only_be_read_the_heartbeat_tells(paths, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with run_lock(paths), monkeypatch.context() as patch:
        patch.setattr(FileLock, "acquire", refuse)
        assert is_held(paths)
        os.utime(paths.lease, (0, 0))
        assert not is_held(paths)


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
        pytest.raises(UserError, match="cannot be locked"),
        run_lock(RunPaths(tmp_path, "open", "x", "e", "0" * 12, 0)),
    ):
        pass
