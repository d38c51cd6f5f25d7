"""Accuracy and counts, against figures worked out by hand."""

import json

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.cli import score as command
from elmo_bench.tasks.snli.metric import Metric

METRIC = Metric()
SHORT = {"e": "entailment", "n": "neutral", "c": "contradiction", "-": "-"}
GOLD = [SHORT[letter] for letter in "eennccc-"]
PREDICTED = [SHORT[letter] for letter in "enncccee"]  # right: the first, third, fifth and sixth


def test_by_hand():
    scores = METRIC.score(GOLD, PREDICTED)
    assert scores["overall"] == {"accuracy": pytest.approx(400 / 7), "correct": 4, "pairs": 7, "left_out": 1}
    assert scores["by_type"] == {
        "entailment": {"recall": 50.0, "correct": 1, "guessed": 2, "gold": 2},
        "neutral": {"recall": 50.0, "correct": 1, "guessed": 2, "gold": 2},
        "contradiction": {"recall": pytest.approx(200 / 3), "correct": 2, "guessed": 3, "gold": 3},
    }
    outcomes = METRIC.outcomes(GOLD[:7], PREDICTED[:7])
    assert outcomes["correct"].tolist() == [1, 0, 1, 0, 1, 1, 0]
    assert outcomes["correct"].dtype == np.uint8


def test_nothing_to_score_and_sides_of_different_lengths():
    with pytest.raises(ValueError, match="shorter"):
        METRIC.score(GOLD, PREDICTED[:-1])
    for gold in ([], ["-", "-"]):
        with pytest.raises(ValueError, match="0 gold labels"):
            METRIC.score(gold, ["neutral"] * len(gold))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["", "\tA man .\tA b ."])
def test_a_file_has_the_scores_of_its_labels(tmp_path, ending, text):
    path = tmp_path / "predictions.tsv"
    lines = [f"{g}\t{p}{text}{ending}" for g, p in zip(GOLD, PREDICTED, strict=True)]
    path.write_bytes("".join(lines).encode())
    assert METRIC.score_files(path) == METRIC.score(GOLD, PREDICTED)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("neutral\tneutral\nneutral\n", "x.tsv:2: expected gold label, tab, predicted label; mend this line"),
        ("neutral\tmaybe\n", "x.tsv:1: 'maybe' is not a label: expected entailment, neutral, contradiction; mend this"),
        ("neutral\t-\n", "x.tsv:1: '-' is not a label"),
        ("Neutral\tneutral\n", "x.tsv:1: 'Neutral' is not a label"),
        ("\tneutral\n", "x.tsv:1: '' is not a label"),
        ("\n", "x.tsv: no gold labels; each line must hold gold label, tab, predicted label"),
        ("-\tneutral\n", "x.tsv: no gold labels; each line"),
    ],
)
def test_malformed_files(tmp_path, content, message):
    path = tmp_path / "x.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as raised:
        METRIC.score_files(path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_score_command(tmp_path, capsys):
    path = tmp_path / "predictions.tsv"
    path.write_text("neutral\tneutral\tA .\tB .\n-\tneutral\nneutral\tentailment\n", encoding="utf-8")
    assert command.main(["snli", str(path), "--json"]) == 0
    overall = json.loads(capsys.readouterr().out)["overall"]
    assert overall == {"accuracy": 50.0, "correct": 1, "pairs": 2, "left_out": 1}
    assert command.main(["snli", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 pairs (1 without a gold label left out), 1 right; accuracy 50.00 %"
    assert lines[2].split() == ["entailment", "0.00", "0", "1", "0"]
    assert lines[3].split() == ["neutral", "50.00", "1", "1", "2"]
