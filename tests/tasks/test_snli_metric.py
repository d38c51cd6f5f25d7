"""Accuracy and counts, against figures worked out by hand."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["", "\tA man .\tA b ."])
def test_a_file_has_the_scores_of_its_labels(tmp_path, ending, text):
    path = tmp_path / "predictions.tsv"
    lines = [f"{g}\t{p}{text}{ending}" for g, p in zip(GOLD, PREDICTED, strict=True)]
    path.write_bytes("".join(lines).encode())
    assert METRIC.score_files(path) == METRIC.score(GOLD, PREDICTED)
