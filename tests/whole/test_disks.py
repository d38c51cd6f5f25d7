"""Full and read-only disks: every command ends in one line, loses nothing, and goes on when there is room."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench.__main__ import main
from tests.disks import small_disk
from tests.pretraining import corpora
from tests.reporting.ledgers import add
from tests.runs import GOLDEN, ROOT, first_rows, small


@pytest.fixture
def disk(tmp_path):
    """A disk of 256 KiB."""
    with small_disk(tmp_path / "disk", 256) as disk:
        yield disk


FULL, READ_ONLY = "No space left on device", "ead-only file system"


def command(name, tmp_path, out):
    """The words of a command that writes to this folder."""
    if name == "run":  # its second checkpoint does not fit
        return ["run", "task=ner", *small("logger=csv", encoder="none"), f"ledger={out}", "store=off"]
    if name == "pretrain":
        corpora.write(tmp_path)
        return ["pretrain", *corpora.overrides(tmp_path, out, "recipe.steps=20")]
    if name == "export":
        return ["export", GOLDEN, out]
    add(tmp_path / "runs", "ner", "glove", 0)
    return ["report", "--ledger", tmp_path / "runs", "--out", out]


@pytest.mark.parametrize(
    ("name", "leave"),
    first_rows([("run", 20_000), ("pretrain", 0), ("export", 0), ("report", 8_000), ("pretrain", 20_000)], 1),
)
def test_a_command_on_a_full_disk_goes_on_when_there_is_room_and_is_refused_on_a_read_only_one(
    disk, refused, tmp_path, name, leave
):
    words = command(name, tmp_path, out := disk.path / "out")
    disk.fill(leave=leave)
    assert FULL in refused(*words)
    left = {path.name for path in out.rglob("*")}
    assert not left & {"seed0.json", "options.json", "weights.hdf5", "weights.safetensors"}
    disk.make_room()
    assert main([str(word) for word in words]) == 0
    shutil.rmtree(out)
    disk.make_read_only()
    assert READ_ONLY in refused(*words)


def test_a_sweep_on_a_read_only_disk(disk, refused, monkeypatch):
    monkeypatch.chdir(disk.path)
    disk.make_read_only()
    assert READ_ONLY.lower() in refused("sweep", "task=ner", *small(encoder="none"), "seed=0,1", "ledger=runs").lower()


def test_output_to_a_full_device():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "elmo_bench", "--help"],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.stderr == "elmo-bench: output: No space left on device. Free some space, or choose another place.\n"
    assert done.returncode == 2
