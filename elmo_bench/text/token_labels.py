"""Tasks with a label for each word: their metric, and control labels; imports no torch."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import Formula, columns, share
from elmo_bench.text.columns import read_columns
from elmo_bench.text.figures import count_labels, label_table, score_labels

GOLD, CONTROL = "gold", "control"
Labels = Sequence[str]
# 100 · correct / tokens: an item holds several decisions.
TOKEN_ACCURACY = Formula("token-accuracy", ("correct", "tokens"), columns, share, lambda sums: sums[1])


class TokenAccuracy:
    """The share of words whose predicted label is the gold one, punctuation included: a `contracts.Metric`."""

    main = "accuracy"
    formula = TOKEN_ACCURACY
    files = ("FILE",)

    def score(self, gold: Sequence[Labels], predicted: Sequence[Labels]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, tokens}, "by_type": {label: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        if [*map(len, gold)] != [*map(len, predicted)]:
            raise ValueError("gold and predicted labels must be as many")
        wanted, found = list(chain(*gold)), list(chain(*predicted))
        scores = score_labels(wanted, found, {label: label for label in sorted({*wanted, *found})})
        scores["overall"]["tokens"] = len(wanted)
        return scores

    def outcomes(self, gold: Sequence[Labels], predicted: Sequence[Labels]) -> dict[str, np.ndarray]:
        """For paired tests, by sentence: how many labels are right, of how many; and counts by label."""
        right = [sum(g == p for g, p in zip(*pair, strict=True)) for pair in zip(gold, predicted, strict=True)]
        counts = {"correct": np.array(right), "tokens": np.array([len(labels) for labels in gold])}
        return counts | count_labels(gold, predicted)

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file: a word a line, gold and predicted label in its last two columns. Raises UserError."""
        sentences = [[cells for _, cells in rows] for rows in read_columns(path)]
        if not sentences or len(sentences[0][0]) < 3:
            raise UserError(f"{path}: no predictions. Each line must have a word, its gold and its predicted label.")
        sides = [[[cells[side] for cells in sentence] for sentence in sentences] for side in (-2, -1)]
        return self.score(*sides)

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        return label_table(scores, f"{scores['overall']['tokens']} words")


def control_labels(train: Iterable[str], *, seed: int = 0) -> Callable[[str], str]:
    """A function from a word to its control label, drawn for each distinct word from the labels of the training words.

    A probe can learn these labels only word by word. Its accuracy on the true labels less its accuracy on
    control labels is its selectivity. Equal for equal seeds and training labels. Source: Hewitt and Liang (2019),
    Designing and interpreting probes with control tasks, section 2.
    """
    counts = sorted(Counter(train).items())
    labels, weights = [label for label, _ in counts], [count for _, count in counts]

    @cache
    def control(word: str) -> str:
        return random.Random(f"{seed} {word}").choices(labels, weights)[0]

    return control
