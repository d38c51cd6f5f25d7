"""Accuracy over five classes; imports no torch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.errors import UserError
from elmo_bench.files import read_lines
from tasks.sst5.phrase import LABELS


class Sst5Metric:
    """The share of sentences whose predicted label is the gold one, neutral included (facts sheet 5.5)."""

    main = "accuracy"
    files = ("FILE",)

    def score(self, gold: Sequence[int], predicted: Sequence[int]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, sentences}, "by_type": {label's name: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError where the sides differ in length or nothing is to be scored.
        """
        if len(gold) != len(predicted) or not gold:
            raise ValueError(f"{len(gold)} gold labels and {len(predicted)} predicted ones")
        right = Counter(g for g, p in zip(gold, predicted, strict=True) if g == p)
        wanted, guessed = Counter(gold), Counter(predicted)
        return {
            "overall": {
                "accuracy": 100 * right.total() / len(gold),
                "correct": right.total(),
                "sentences": len(gold),
            },
            "by_type": {
                name: {
                    "recall": 100 * right[label] / wanted[label] if wanted[label] else 0.0,
                    "correct": right[label],
                    "guessed": guessed[label],
                    "gold": wanted[label],
                }
                for label, name in enumerate(LABELS)
            },
        }

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
        overall = scores["overall"]
        head = f"{overall['sentences']} sentences, {overall['correct']} right; accuracy {overall['accuracy']:.2f} %"
        return "\n".join(
            [head, f"{'':<13}  recall  right  found   gold"]
            + [
                f"{name:<13}  {row['recall']:6.2f}  {row['correct']:5d}  {row['guessed']:5d}  {row['gold']:5d}"
                for name, row in scores["by_type"].items()
            ]
        )
