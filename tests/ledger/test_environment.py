"""Which code made a record, where the package is installed."""

import subprocess

import pytest

from elmo_bench.ledger import environment


@pytest.mark.parametrize(
    ("text", "commit", "dirty"),
    [(None, None, None), ("c" * 40, "c" * 40, False), (f"{'c' * 40}-dirty\n", "c" * 40, True)],
)
def test_the_commit_is_read_from_the_wheel(tmp_path, text, commit, dirty):
    (tmp_path / "elmo_bench").mkdir()
    if text is not None:
        (tmp_path / "elmo_bench" / "commit.txt").write_text(text)
    made = environment([], tmp_path)
    assert (made["commit"], made["dirty"]) == (commit, dirty)


def git(folder, *arguments):
    given = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@y",
        "-c",
        "commit.gpgsign=false",
        *arguments,
    ]
    subprocess.run(given, check=True, capture_output=True)


def test_a_checkout_with_other_changes_than_records_is_dirty(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("x = 1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    project = tmp_path.resolve()
    commit = environment([], project)["commit"]
    assert len(commit) == 40
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "record.json").touch()
    assert environment([], project)["dirty"] is False
    (tmp_path / "code.py").write_text("x = 2")
    assert environment([], project)["dirty"] is True


def test_the_commit_of_a_checkout_around_the_package_is_not_its_own(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    (tmp_path / "inner").mkdir()
    made = environment([], tmp_path.resolve() / "inner")
    assert (made["commit"], made["dirty"]) == (None, None)
