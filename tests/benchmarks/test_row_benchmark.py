"""benchmarks/row.py on the committed ledger."""

import sys

import pytest

from benchmarks import row
from tests.runs import ROOT


@pytest.mark.slow
def test_the_table_of_the_row_is_what_the_command_prints(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["row.py"])
    assert row.main() == 0
    table, said = capsys.readouterr().out.rstrip().split("\n\n")
    assert table in (ROOT / "benchmarks/README.md").read_text(encoding="utf-8")
    assert said == "18 of 18 runs are there: 12.2 core-hours."


def test_of_an_encoder_without_runs_it_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["row.py", "--ledger", str(tmp_path), "--encoder", "glove"])
    assert row.main() == 0
    assert capsys.readouterr().out.endswith("\n0 of 18 runs are there: 0.0 core-hours.\n")
