"""Accuracy over five classes; imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.sst5.data import LABELS
from elmo_bench.text.columns import read_label_pairs
from elmo_bench.text.figures import ACCURACY, count_labels, label_table, score_labels


class Metric:
    """The percentage of sentences with the right label, neutral included."""

    main = "accuracy"
    formula = ACCURACY
    files = ("FILE",)

    def score(self, gold: Sequence[int], predicted: Sequence[int]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, sentences}, "by_type": {label's name: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        scores = score_labels(gold, predicted, dict(enumerate(LABELS)))
        scores["overall"]["sentences"] = len(gold)
        return scores

    def outcomes(self, gold: Sequence[int], predicted: Sequence[int]) -> dict[str, np.ndarray]:
        """For paired tests: {"correct": uint8 [sentences], 1 where the label is right}; and counts by label."""
        sides = [[(LABELS[label],) for label in labels] for labels in (gold, predicted)]
        return {"correct": (np.array(gold) == np.array(predicted)).astype(np.uint8)} | count_labels(*sides)

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file. Each line is a sentence: gold label, tab, predicted label; further columns are ignored.

        Raises UserError with file and line.
        """
        pairs = read_label_pairs(path, gold=set("01234"), predicted=set("01234"), expected="0 to 4")
        if not pairs:
            raise UserError(f"{path}: no labels. Each line must have gold label, tab, predicted label")
        return self.score([int(gold) for gold, _ in pairs], [int(predicted) for _, predicted in pairs])

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        return label_table(scores, f"{scores['overall']['sentences']} sentences")
