"""What the record says about machine and code."""

from elmo_bench.ledger import environment


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert environment([])["commit"] is None
