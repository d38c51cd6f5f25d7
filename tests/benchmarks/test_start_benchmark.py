"""`benchmarks/start.py`: the texts, and the table of a round."""

import re
import sys
from types import SimpleNamespace

import pytest

from benchmarks import start


def test_the_label_of_a_text_is_in_a_word():
    header, *lines = start.texts().splitlines()
    assert header == "text,label" and len(set(lines)) == start.TEXTS
    for line in lines:
        text, label = line.split(",")
        assert {*text.split()} & {*start.SIDES[label]}


def test_what_a_run_takes_besides_its_own_is_what_more_runs_add(monkeypatch, tmp_path):
    """One run: 10 s, of which its record counts 1; five: 20 s, 5 of them counted."""
    whole = {"seed=0": 10.0, "seed=0,1,2,3,4": 20.0}
    monkeypatch.setattr(start, "spent", lambda command: start.Spent(0.0, 0.0, whole[command[-1]]))
    record = SimpleNamespace(cost=SimpleNamespace(seconds=1.0))
    counted = {"1": [record], "5": [record] * 5}
    monkeypatch.setattr(start, "read_all", lambda ledger: SimpleNamespace(records=counted[ledger.name]))
    assert start.besides_its_runs(5, tmp_path / "x.csv", tmp_path, "glove") == ((20 - 5) - (10 - 1)) / 4


@pytest.mark.slow
def test_the_table_has_a_line_for_each_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["start.py", "--rounds", "1", "--runs", "2"])
    assert start.main() == 0
    new, finished, _, besides = capsys.readouterr().out.splitlines()[2:]
    seconds = [[float(number) for number in re.findall(r"\d+\.\d+", line)] for line in (new, finished)]
    assert seconds[0][3] > seconds[1][3] > 0  # processor time: a finished run does nothing
    assert re.search(r"takes -?\d+\.\d s of wall time", besides)
