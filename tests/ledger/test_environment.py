"""What the record says about machine and code."""

import platform
import subprocess
import sys
from pathlib import Path

from elmo_bench.ledger import environment

ROOT = Path(__file__).parents[2]


def test_versions_of_what_is_installed():
    found = environment(["numpy", "no-such-package"])
    assert found["python"] == platform.python_version()
    assert list(found["packages"]) == ["numpy"]
    assert found["cpu"]


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert environment([])["commit"] is None


def test_the_ledger_imports_nothing_of_ours_but_the_floor():
    code = "import sys, elmo_bench.ledger; print(*(name for name in sys.modules if name.startswith('elmo_bench.')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert {name.split(".")[1] for name in done.stdout.split()} <= {"ledger", "base"}
