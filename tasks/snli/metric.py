"""Accuracy over three classes; imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.tasks.snli.pair import LABELS, NO_GOLD
from elmo_bench.text.labels import label_table, score_labels


class Metric:
    """The share of pairs whose predicted label is the gold one; pairs without a gold label are left out, as in SNLI."""

    main = "accuracy"
    formula = "accuracy"
    files = ("FILE",)

    def score(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, pairs, left_out}, "by_type": {label: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError where the sides differ in length or nothing is to be scored.
        """
        both = [(g, p) for g, p in zip(gold, predicted, strict=True) if g != NO_GOLD]
        scores = score_labels([g for g, _ in both], [p for _, p in both], {label: label for label in LABELS})
        scores["overall"] |= {"pairs": len(both), "left_out": len(gold) - len(both)}
        return scores

    def outcomes(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, np.ndarray]:
        """For paired tests: {"correct": uint8 [pairs], 1 where the label is right}."""
        return {"correct": (np.array(gold) == np.array(predicted)).astype(np.uint8)}

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file, a line a pair: gold label, tab, predicted label; more columns may follow.

        Raises UserError, with file and line.
        """
        gold, predicted = [], []
        for number, line in read_lines(path):
            if not line.strip():
                continue
            cells = [cell.strip() for cell in line.split("\t")]
            if len(cells) < 2:
                raise UserError(f"{path}:{number}: expected gold label, tab, predicted label; mend this line")
            if wrong := [
                cell for cell, more in zip(cells, (NO_GOLD, None), strict=False) if cell not in (*LABELS, more)
            ]:
                raise UserError(
                    f"{path}:{number}: {wrong[0]!r} is not a label: expected {', '.join(LABELS)}; mend this line"
                )
            gold.append(cells[0])
            predicted.append(cells[1])
        if all(label == NO_GOLD for label in gold):
            raise UserError(f"{path}: no gold labels; each line must hold gold label, tab, predicted label")
        return self.score(gold, predicted)

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        overall = scores["overall"]
        left = f" ({overall['left_out']} without a gold label left out)" if overall["left_out"] else ""
        return label_table(scores, f"{overall['pairs']} pairs{left}")
