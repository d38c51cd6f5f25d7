"""Full and read-only disks: every command ends in one line, loses nothing, and goes on when there is room."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import read_all
from tests.disks import small_disk
from tests.pretraining import corpora
from tests.reporting.ledgers import add
from tests.runs import GOLDEN, ROOT, small


@pytest.fixture
def disk(tmp_path):
    """A disk of 256 KiB."""
    with small_disk(tmp_path / "disk", 256) as disk:
        yield disk


@pytest.fixture
def refused(capsys):
    """`refused(*command) -> line`: the command ends with exit code 2 and one line, without a traceback."""

    def refused(*command):
        capsys.readouterr()
        assert main([str(part) for part in command]) == 2
        said = capsys.readouterr().err
        assert "Traceback" not in said
        [line] = [line for line in said.splitlines() if line.startswith("elmo-bench")]
        return line

    return refused


FULL, READ_ONLY = "No space left on device", "ead-only file system"


def test_a_run_on_a_full_disk(disk, refused):
    """Its second checkpoint does not fit."""
    ledger = disk.path / "runs"
    options = ["run", "task=ner", *small("logger=csv", encoder="none"), f"ledger={ledger}", "store=off"]
    disk.fill(leave=20_000)
    assert FULL in refused(*options)
    assert read_all(ledger).records == []
    disk.make_room()
    assert main(options) == 0
    assert len(read_all(ledger).records) == 1


def test_a_run_on_a_read_only_disk(disk, refused):
    disk.make_read_only()
    assert READ_ONLY in refused("run", "task=ner", *small(encoder="none"), f"ledger={disk.path / 'runs'}")


@pytest.mark.parametrize("leave", [0, 20_000])
def test_pretrain(disk, refused, tmp_path, leave):
    corpora.write(tmp_path)
    options = ["pretrain", *corpora.overrides(tmp_path, disk.path / "out", "recipe.steps=20")]
    disk.fill(leave=leave)
    assert FULL in refused(*options)
    disk.make_room()
    assert main(options) == 0
    shutil.rmtree(disk.path / "out")
    disk.make_read_only()
    assert READ_ONLY in refused(*options)


def test_export(disk, refused):
    options = ["export", GOLDEN, disk.path / "out"]
    disk.fill()
    assert FULL in refused(*options)
    assert not list(disk.path.glob("out/*"))
    disk.make_read_only()
    assert READ_ONLY in refused(*options)


def test_report_says_nothing_untrue(disk, refused, tmp_path):
    add(tmp_path / "runs", "ner", "glove", 0)
    options = ["report", "--ledger", tmp_path / "runs", "--out", disk.path / "out"]
    disk.fill(leave=8_000)
    line = refused(*options)
    assert FULL in line
    assert "nothing was written" not in line
    disk.make_room()
    assert main([str(option) for option in options]) == 0
    disk.make_read_only()
    assert READ_ONLY in refused(*options)


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
