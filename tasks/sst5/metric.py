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
    """The percentage of sentences with the right label, neutral included; the other tasks with one label derive it."""

    main = "accuracy"
    formula = ACCURACY
    files: tuple[str, ...] = ("FILE",)
    names: Mapping[Any, str] = dict(enumerate(LABELS))  # of the labels
    unknown: tuple[str, ...] = ()  # gold labels that do not count
    unit = "sentences"

    def score(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, sentences}, "by_type": {label's name: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        scores = score_labels(gold, predicted, self.names)
        scores["overall"][self.unit] = len(gold)
        return scores

    def outcomes(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, np.ndarray]:
        """For paired tests: {"correct": uint8 [items], 1 where the label is right}; and counts by label."""
        sides = [[(self.names.get(label, label),) for label in labels] for labels in (gold, predicted)]
        return {"correct": (np.array(gold) == np.array(predicted)).astype(np.uint8)} | count_labels(*sides)

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file. Each line is an item: gold label, tab, predicted label; further columns are ignored.

        Raises UserError with file and line.
        """
        written = {str(label): label for label in self.names}
        pairs = read_label_pairs(path, gold=(*written, *self.unknown), predicted=written, expected=", ".join(written))
        if not pairs:
            raise UserError(f"{path}: no labels. Each line must have gold label, tab, predicted label")
        return self.score([written.get(gold, gold) for gold, _ in pairs], [written[label] for _, label in pairs])

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        return label_table(scores, f"{scores['overall'][self.unit]} {self.unit}")
