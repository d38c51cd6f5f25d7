"""What the record says about machine and code."""

import platform

from elmo_bench.ledger import environment
from elmo_bench.ledger.environment import _git_state


def test_versions_of_what_is_installed():
    found = environment(["numpy", "no-such-package"])
    assert found["python"] == platform.python_version()
    assert list(found["packages"]) == ["numpy"]
    assert found["cpu"]


def test_without_git_or_outside_a_checkout(tmp_path, monkeypatch):
    assert _git_state(tmp_path) == (None, None)
    monkeypatch.setenv("PATH", "")
    assert environment([])["commit"] is None
