"""Accuracy over five classes; imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_lines
from elmo_bench.tasks.sst5.phrase import LABELS
from elmo_bench.text.labels import label_table, score_labels


class Metric:
    """The share of sentences whose predicted label is the gold one, neutral included (facts sheet 5.5)."""

    main = "accuracy"
    formula = "accuracy"
    files = ("FILE",)

    def score(self, gold: Sequence[int], predicted: Sequence[int]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, sentences}, "by_type": {label's name: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError where the sides differ in length or nothing is to be scored.
        """
        scores = score_labels(gold, predicted, dict(enumerate(LABELS)))
        scores["overall"]["sentences"] = len(gold)
        return scores

    def outcomes(self, gold: Sequence[int], predicted: Sequence[int]) -> dict[str, np.ndarray]:
        """For paired tests: {"correct": uint8 [sentences], 1 where the label is right}."""
        return {"correct": (np.array(gold) == np.array(predicted)).astype(np.uint8)}

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file, a line a sentence: gold label, tab, predicted label; more columns may follow.

        Raises UserError, with file and line.
        """
        gold, predicted = [], []
        for number, line in read_lines(path):
            if not line.strip():
                continue
            cells = [cell.strip() for cell in line.split("\t")]
            if len(cells) < 2:
                raise UserError(f"{path}:{number}: expected gold label, tab, predicted label; mend this line")
            if wrong := [cell for cell in cells[:2] if cell not in set("01234")]:
                raise UserError(f"{path}:{number}: {wrong[0]!r} is not a label: expected 0 to 4; mend this line")
            gold.append(int(cells[0]))
            predicted.append(int(cells[1]))
        if not gold:
            raise UserError(f"{path}: no labels; each line must hold gold label, tab, predicted label")
        return self.score(gold, predicted)

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        return label_table(scores, f"{scores['overall']['sentences']} sentences")
