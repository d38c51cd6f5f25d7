"""Accuracy over words; imports no torch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.errors import UserError
from elmo_bench.text.columns import read_columns

Tags = Sequence[str]


class PosMetric:
    """The share of words whose predicted tag is the gold one, punctuation included (facts sheet 5.5)."""

    main = "accuracy"
    files = ("FILE",)

    def score(self, gold: Sequence[Tags], predicted: Sequence[Tags]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, tokens}, "by_type": {tag: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError where the sides differ in length or nothing is to be scored.
        """
        if [*map(len, gold)] != [*map(len, predicted)] or not any(map(len, gold)):
            raise ValueError("gold and predicted tags must be as many, and some")
        pairs = list(zip(chain(*gold), chain(*predicted), strict=True))
        right = Counter(g for g, p in pairs if g == p)
        wanted, guessed = Counter(g for g, _ in pairs), Counter(p for _, p in pairs)
        return {
            "overall": {"accuracy": 100 * right.total() / len(pairs), "correct": right.total(), "tokens": len(pairs)},
            "by_type": {
                tag: {
                    "recall": 100 * right[tag] / wanted[tag] if wanted[tag] else 0.0,
                    "correct": right[tag],
                    "guessed": guessed[tag],
                    "gold": wanted[tag],
                }
                for tag in sorted(wanted | guessed)
            },
        }

    def outcomes(self, gold: Sequence[Tags], predicted: Sequence[Tags]) -> dict[str, np.ndarray]:
        """For paired tests, by sentence: how many tags are right, of how many."""
        right = [sum(g == p for g, p in zip(*pair, strict=True)) for pair in zip(gold, predicted, strict=True)]
        return {"correct": np.array(right), "tokens": np.array([len(tags) for tags in gold])}

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file: a word a line, gold and predicted tag in its last two columns. Raises UserError."""
        sentences = [[cells for _, cells in rows] for rows in read_columns(path)]
        if not sentences:
            raise UserError(f"{path}: no words; each line must hold a word, its gold and its predicted tag")
        sides = [[[cells[side] for cells in sentence] for sentence in sentences] for side in (-2, -1)]
        return self.score(*sides)

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a tag."""
        overall = scores["overall"]
        head = f"{overall['tokens']} words, {overall['correct']} right; accuracy {overall['accuracy']:.2f} %"
        return "\n".join(
            [head, f"{'':<6}  recall  right  found   gold"]
            + [
                f"{tag:<6}  {row['recall']:6.2f}  {row['correct']:5d}  {row['guessed']:5d}  {row['gold']:5d}"
                for tag, row in scores["by_type"].items()
            ]
        )
