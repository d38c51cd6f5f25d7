"""Of a ledger in a clone, git sees records and outcomes alone."""

import subprocess

import pytest

from tests.runs import ROOT


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_only_records_and_outcomes_are_committed(tmp_path):
    (tmp_path / ".gitignore").write_text((ROOT / ".gitignore").read_text(encoding="utf-8"))
    folder = tmp_path / "results" / "runs" / "open" / "ner" / "elmo" / "0123456789ab"
    (folder / "seed1").mkdir(parents=True)
    (folder / "seed1" / "head.safetensors").touch()
    (folder / "seed2").symlink_to(tmp_path)
    (folder / "seed10.failed").symlink_to(tmp_path)
    for name in (
        "seed0.json",
        "seed0.npz",
        "seed3.failed.json",
        "seed3.lock",
        ".seed3.json.x",
    ):
        (folder / name).touch()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain", "--untracked-files=all"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert sorted(line.rpartition("/")[2] for line in listed.stdout.splitlines()) == [
        "?? .gitignore",
        "seed0.json",
        "seed0.npz",
    ]
