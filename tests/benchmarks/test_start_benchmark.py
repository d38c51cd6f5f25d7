"""`benchmarks/start.py`: the texts, and the table of a round."""

import re
import sys

import pytest

from benchmarks import start


def test_the_label_of_a_text_is_in_a_word():
    header, *lines = start.texts().splitlines()
    assert header == "text,label" and len(set(lines)) == start.TEXTS
    for line in lines:
        text, label = line.split(",")
        assert {*text.split()} & {*start.SIDES[label]}


@pytest.mark.slow
def test_the_table_has_a_line_for_each_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["start.py", "--rounds", "1", "--runs", "2"])
    assert start.main() == 0
    new, finished, _, besides = capsys.readouterr().out.splitlines()[2:]
    seconds = [[float(number) for number in re.findall(r"\d+\.\d+", line)] for line in (new, finished)]
    assert seconds[0][3] > seconds[1][3] > 0  # processor time: a finished run does nothing
    assert re.search(r"takes -?\d+\.\d s of wall time", besides)
