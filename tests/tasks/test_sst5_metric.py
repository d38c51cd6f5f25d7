"""Accuracy by hand, and files of predictions."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["", "\tIt works ."])
def test_a_file_has_the_scores_of_its_labels(tmp_path, ending, text):
    path = tmp_path / "predictions.tsv"
    lines = [f"{g}\t{p}{text}{ending}" for g, p in zip(GOLD, PREDICTED, strict=True)]
    path.write_bytes("".join(lines).encode())
    assert METRIC.score_files(path) == METRIC.score(GOLD, PREDICTED)
