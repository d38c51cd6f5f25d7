"""Accuracy over three classes; imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.tasks.snli.data import LABELS, NO_GOLD
from elmo_bench.text.columns import read_label_pairs
from elmo_bench.text.figures import ACCURACY, count_labels, label_table, score_labels


class Metric:
    """The percentage of pairs with the right label; pairs without a gold label are ignored, as in SNLI."""

    main = "accuracy"
    formula = ACCURACY
    files = ("FILE",)

    def score(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, pairs, left_out}, "by_type": {label: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        both = [(g, p) for g, p in zip(gold, predicted, strict=True) if g != NO_GOLD]
        scores = score_labels([g for g, _ in both], [p for _, p in both], {label: label for label in LABELS})
        scores["overall"] |= {"pairs": len(both), "left_out": len(gold) - len(both)}
        return scores

    def outcomes(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, np.ndarray]:
        """For paired tests: {"correct": uint8 [pairs], 1 where the label is right}; and counts by label."""
        sides = [[(label,) for label in labels] for labels in (gold, predicted)]
        return {"correct": (np.array(gold) == np.array(predicted)).astype(np.uint8)} | count_labels(*sides)

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file. Each line is a pair: gold label, tab, predicted label; further columns are ignored.

        Raises UserError with file and line.
        """
        pairs = read_label_pairs(path, gold=(*LABELS, NO_GOLD), predicted=LABELS, expected=", ".join(LABELS))
        if not pairs:
            raise UserError(f"{path}: no labels. Each line must have gold label, tab, predicted label")
        return self.score([gold for gold, _ in pairs], [predicted for _, predicted in pairs])

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        overall = scores["overall"]
        left = f" ({overall['left_out']} without a gold label ignored)" if overall["left_out"] else ""
        return label_table(scores, f"{overall['pairs']} pairs{left}")
