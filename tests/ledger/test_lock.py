"""One process per run, whatever becomes of the process."""

import os
import platform
import subprocess
import sys

import pytest

from elmo_bench.ledger import HeldElsewhere, Holder, RunPaths, holder_of, run_lock
from tests.ledger.records import make_record
from tests.runs import ROOT

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
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_second_process_is_told_and_a_kill_frees_the_run(paths, holder):
    assert holder_of(paths)
    with pytest.raises(HeldElsewhere, match="another process is working on this run: left to it"), run_lock(paths):
        pass
    assert paths.lock.exists()
    holder.kill()
    holder.wait()
    assert paths.lock.exists()
    assert not holder_of(paths)
    with pytest.raises(ValueError, match="inside"), run_lock(paths):
        raise ValueError("inside" if holder_of(paths) else "free")
    assert not paths.lock.exists()


def test_the_locked_file_says_who_holds_it_however_often_it_is_asked_for(paths):
    spec = make_record().spec
    with run_lock(paths, spec=spec):
        for _ in range(3):
            assert holder_of(paths) == Holder(spec=spec, seed=0, machine=platform.node(), pid=os.getpid())
            with pytest.raises(HeldElsewhere), run_lock(paths):
                pass
    paths.lock.write_text("left by a killed process")
    assert holder_of(paths) is None
