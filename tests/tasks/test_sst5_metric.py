"""Accuracy by hand, and files of predictions."""

import numpy as np
import pytest

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.sst5.metric import Metric

METRIC = Metric()
GOLD, PREDICTED = [0, 1, 2, 3, 4, 4, 2, 2], [0, 2, 2, 4, 4, 3, 2, 1]  # right: the first, third, fifth and seventh


def test_by_hand():
    scores = METRIC.score(GOLD, PREDICTED)
    assert scores["overall"] == {"accuracy": 50.0, "correct": 4, "sentences": 8}
    assert scores["by_type"] == {
        "very negative": {"recall": 100.0, "correct": 1, "guessed": 1, "gold": 1},
        "negative": {"recall": 0.0, "correct": 0, "guessed": 1, "gold": 1},
        "neutral": {"recall": pytest.approx(200 / 3), "correct": 2, "guessed": 3, "gold": 3},
        "positive": {"recall": 0.0, "correct": 0, "guessed": 1, "gold": 1},
        "very positive": {"recall": 50.0, "correct": 1, "guessed": 2, "gold": 2},
    }
    outcomes = METRIC.outcomes(GOLD, PREDICTED)
    assert outcomes["correct"].tolist() == [1, 0, 1, 0, 1, 0, 1, 0]
    assert outcomes["correct"].dtype == np.uint8


def test_sides_of_different_lengths():
    for gold, predicted in (([1], [1, 2]), ([], [])):
        with pytest.raises(ValueError, match="gold labels and"):
            METRIC.score(gold, predicted)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["", "\tIt works ."])
def test_a_file_has_the_scores_of_its_labels(tmp_path, ending, text):
    path = tmp_path / "predictions.tsv"
    lines = [f"{g}\t{p}{text}{ending}" for g, p in zip(GOLD, PREDICTED, strict=True)]
    path.write_bytes("".join(lines).encode())
    assert METRIC.score_files(path) == METRIC.score(GOLD, PREDICTED)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\t1\n2\n", "x.tsv:2: expected gold label, tab, predicted label. Fix this line."),
        ("1\t1\n2\t5\n", "x.tsv:2: '5' is not a label: expected 0 to 4. Fix this line."),
        ("\t1\n", "x.tsv:1: '' is not a label"),
        ("gold\tpredicted\n", "x.tsv:1: 'gold' is not a label"),
        ("\n", "x.tsv: no labels. Each line must have gold label, tab, predicted label"),
    ],
)
def test_malformed_files(tmp_path, content, message):
    path = tmp_path / "x.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as raised:
        METRIC.score_files(path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
