"""Accuracy over three classes; imports no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.metric import Sums, scores_of
from elmo_bench.tasks.snli.data import LABELS, NO_GOLD
from elmo_bench.text.figures import LabelAccuracy, label_table


class Metric(LabelAccuracy):
    """The percentage of pairs with the right label.

    Pairs without a gold label are ignored, as in SNLI.
    """

    names: Mapping[str, str] = {label: label for label in LABELS}
    unknown = (NO_GOLD,)
    unit = "pairs"

    def figures(self, sums: Sums) -> dict[str, Any]:
        """accuracy, correct, pairs, left_out; figures of each label.

        Those are recall, correct, guessed, gold. Pairs without a gold label are left
        out before they are counted: here `left_out` is 0.
        """
        return super().figures(sums) | {"left_out": np.zeros_like(sums["items"])}

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file, as of single labels.

        `left_out` is how many of its pairs have no gold label.
        """
        gold, predicted = self.read_labels(path)
        pairs = zip(gold, predicted, strict=True)
        labelled = [(g, p) for g, p in pairs if g != NO_GOLD]
        right = [g for g, _ in labelled]
        answers = [p for _, p in labelled]
        scores = scores_of(self, self.counts(right, answers))
        scores["overall"]["left_out"] = len(gold) - len(labelled)
        return scores

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        overall = scores["overall"]
        title = f"{overall['pairs']} pairs"
        if overall["left_out"]:
            title += f" ({overall['left_out']} without a gold label ignored)"
        return label_table(scores, title)
