"""The three commands of docs/experiments.md that compare a transformer in a folder with ELMo."""

import re
import shlex
from pathlib import Path

import pytest

from elmo_bench.__main__ import main
from elmo_bench.ledger import read_all
from tests.tiny_bert import make_tiny_bert

PAGE = Path(__file__).parents[1] / "docs" / "experiments.md"
SMALL = ["suite=open", "seed=0,1", "task=pos,deprel"]


def commands():
    """The arguments of each, without `elmo-bench`."""
    text = PAGE.read_text(encoding="utf-8")
    block = text[text.index("Three commands compare") :].split("\n\n")[1]
    return [shlex.split(line)[1:] for line in block.splitlines()]


def smaller(command):
    """A sweep of two probes with two seeds in place of what takes hours."""
    keys = {option.split("=")[0] for option in SMALL} | {"data.root"}
    return [word for word in command if word.split("=")[0] not in keys] + SMALL


@pytest.mark.slow
def test_a_new_user_compares_a_folder_with_elmo_by_three_commands(tmp_path, monkeypatch, capsys):
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    make_tiny_bert(tmp_path / "models" / "my-bert")
    first, second, compare = commands()
    assert main(smaller(first)) == main(smaller(second)) == 0
    capsys.readouterr()
    assert main(compare) == 0
    print(said := capsys.readouterr().out)
    records = read_all(tmp_path / "results" / "runs").records
    assert len(records) == 12
    for task in ("pos", "deprel"):
        means = {
            encoder: [
                record["scores"]["test"]["overall"]["accuracy"]
                for record in records
                if (record["spec"]["task"], record["spec"]["encoder"]) == (task, encoder)
            ]
            for encoder in ("my-bert", "elmo")
        }
        [row] = re.findall(rf"^\| {task} .*$", said, re.MULTILINE)
        difference = sum(means["my-bert"]) / 2 - sum(means["elmo"]) / 2
        assert f"{difference:+.2f}" in row
        assert "2 and 2" in row
