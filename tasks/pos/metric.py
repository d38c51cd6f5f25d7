"""Accuracy over words; imports no torch."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.text.columns import read_columns
from elmo_bench.text.labels import label_table, score_labels

Tags = Sequence[str]


class Metric:
    """The share of words whose predicted tag is the gold one, punctuation included."""

    main = "accuracy"
    formula = "token-accuracy"
    files = ("FILE",)

    def score(self, gold: Sequence[Tags], predicted: Sequence[Tags]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, tokens}, "by_type": {tag: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        if [*map(len, gold)] != [*map(len, predicted)]:
            raise ValueError("gold and predicted tags must be as many")
        wanted, found = list(chain(*gold)), list(chain(*predicted))
        scores = score_labels(wanted, found, {tag: tag for tag in sorted({*wanted, *found})})
        scores["overall"]["tokens"] = len(wanted)
        return scores

    def outcomes(self, gold: Sequence[Tags], predicted: Sequence[Tags]) -> dict[str, np.ndarray]:
        """For paired tests, by sentence: how many tags are right, of how many."""
        right = [sum(g == p for g, p in zip(*pair, strict=True)) for pair in zip(gold, predicted, strict=True)]
        return {"correct": np.array(right), "tokens": np.array([len(tags) for tags in gold])}

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file: a word a line, gold and predicted tag in its last two columns. Raises UserError."""
        sentences = [[cells for _, cells in rows] for rows in read_columns(path)]
        if not sentences or len(sentences[0][0]) < 3:
            raise UserError(f"{path}: no predictions. Each line must have a word, its gold and its predicted tag.")
        sides = [[[cells[side] for cells in sentence] for sentence in sentences] for side in (-2, -1)]
        return self.score(*sides)

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a tag."""
        return label_table(scores, f"{scores['overall']['tokens']} words")
