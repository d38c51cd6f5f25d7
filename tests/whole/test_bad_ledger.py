"""A full disk and damaged records around the main job: one clear line, and nothing lost."""

import errno
import os
import shutil

import pytest

from elmo_bench.__main__ import main
from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import note, noted
from elmo_bench.cli import report
from elmo_bench.ledger import read_all
from tests.reporting.ledgers import add
from tests.runs import files, small


def test_a_full_disk_while_writing_the_record(main_job, tmp_path, capsys, monkeypatch):
    """Started again, it goes on. Checkpoints: tests/whole/test_disks.py."""
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) >= 6:  # checkpoints and the head come first
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert main_job(*small(encoder="none")) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    [line] = [line for line in said.splitlines() if line.startswith("elmo-bench run: ")]
    assert "No space left on device" in line
    assert read_all(tmp_path / "runs") == ([], [])
    assert not [name for name in files(tmp_path / "runs") if "/." in name or name.endswith(".json")]
    assert main_job(*small(encoder="none")) == 0
    assert len(read_all(tmp_path / "runs").records) == 1


def test_a_corrupted_record(main_job, tmp_path, capsys, elmo_run):
    """The skip check and the report; overwriting repairs it."""
    shutil.copytree(elmo_run[0], tmp_path / "runs")
    [record] = (tmp_path / "runs").rglob("seed0.json")
    for content in (b"", b'{"schema": 1, "sui', b"[]"):
        record.write_bytes(content)
        capsys.readouterr()
        assert main_job(*small()) == 2
        said = capsys.readouterr()
        *_, line = said.err.splitlines()
        assert str(record) in line
        assert "Run again with overwrite=true" in line
        assert record.read_bytes() == content
        with pytest.raises(UserError, match="no run in it"):
            report.main(["--ledger", str(tmp_path / "runs"), "--out", str(tmp_path / "page")])
    assert main_job(*small("overwrite=true")) == 0
    ledger = read_all(tmp_path / "runs")
    assert (len(ledger.records), ledger.problems) == (1, [])


@pytest.mark.parametrize("command", [["compare", "elmo", "glove"], ["verify", "ner"], ["report"]])
def test_a_ledger_that_is_not_there_is_one_line(tmp_path, refused, command):
    assert "gone: no such folder. Give the folder of the records." in refused(*command, "--ledger", tmp_path / "gone")


@pytest.mark.usefixtures("undrawn")
def test_no_name_and_no_text_of_a_ledger_moves_the_cursor(tmp_path, capsys):
    """Names of links, settings, labels and notes: on both streams."""
    evil = "\x1b[2J\x9b\u202e"
    for encoder in ("glove", "elmo"):
        add(tmp_path / "runs", "ner", encoder, 0, notes=[evil], settings={"task.head.extra": evil})
    (tmp_path / "runs" / "open" / f"x{evil}").symlink_to(tmp_path)
    [path, _] = sorted((tmp_path / "runs").rglob("seed0.json"))
    for command in (["check", str(path)], ["check", str(tmp_path / "runs")], ["compare", "elmo", "glove"],
                    ["compare"], ["report", "--out", str(tmp_path / "page")]):  # fmt: skip
        more = [] if command[0] == "check" else ["--ledger", str(tmp_path / "runs")]
        main([*command, *more])
        said = capsys.readouterr()
        assert not {"\x1b", "\x9b", "\u202e"} & {*said.out, *said.err}, command
    with noted():
        note(evil)
    assert capsys.readouterr().err == "\\x1b[2J\\x9b\\u202e\n"
