"""Tasks with a label for each word: CoNLL-U files, what their `data.py` have in common, their metric, control labels.

Imports no torch.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_lines
from elmo_bench.base.metric import Sums
from elmo_bench.base.reading import reader
from elmo_bench.base.sources import SuiteData
from elmo_bench.text.columns import NO_GOLD, Row, check_gold, escaped, read_columns, sentences
from elmo_bench.text.figures import LabelAccuracy, check_lengths, count_labels

COLUMNS = 10  # of CoNLL-U
ID, FORM, XPOS, HEAD, DEPREL = 0, 1, 4, 6, 7
GOLD, CONTROL = "gold", "control"
UNKNOWN = ("_", NO_GOLD)  # labels of words without gold: of CoNLL-U, and of other text
Labels = Sequence[str]


@reader
def read_conllu(path: Path) -> Iterator[list[Row]]:
    """The words of each sentence of a CoNLL-U file of Universal Dependencies; empty sentences are skipped.

    Only words with whole numbers, neither ranges (`3-4`) nor words that are only understood (`8.1`), as every reader of
    UD does. Raises UserError with file and line.
    """

    def rows() -> Iterator[Row]:
        for number, line in read_lines(path):
            cells = line.split("\t") if line.strip() else []
            if line.startswith("#"):
                continue
            if len(cells) not in (0, COLUMNS):
                raise UserError(f"{path}:{number}: expected {COLUMNS} columns, found {len(cells)}. Fix this line.")
            if not cells or cells[ID].isdecimal():
                yield number, cells

    return sentences(rows())


class TokenData(SuiteData):
    """A `contracts.Data` for a task to complete. Its examples are dataclasses with `tokens` and `gold`, one label each.

    labels: `gold`, or `control`: a random label for each word (`control_labels`).

    A task gives `schema`, `field` (of an example: its labels), `read_file` and `columns`.
    """

    field: str
    ending = ".txt"
    sources = ("files",)

    def __init__(self, *, labels: str = GOLD, **suites: Mapping[str, Any]):
        if labels not in (GOLD, CONTROL):
            raise UserError(f"task.data.labels={labels}: unknown. Choose {GOLD} or {CONTROL}.")
        super().__init__(**suites)
        self.labels = labels

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        splits = super().read(suite, root)
        for split, examples in splits.items():
            if all(label in UNKNOWN for example in examples for label in example.gold):
                raise UserError(f"task.data.{suite}.{split}: its words have no labels. Give files with labels.")
        if self.labels == CONTROL:
            control = control_labels(label for example in splits["train"] for label in example.gold)
            for split, examples in splits.items():
                splits[split] = [replace(each, **{self.field: tuple(map(control, each.tokens))}) for each in examples]
        return splits

    def columns(self, example: Any) -> Sequence[Sequence[str]]:
        """The columns of a file of predictions before the predicted label; the first has the words."""
        raise NotImplementedError

    def vocabulary(self, train: Sequence[Any]) -> dict[str, list[str]]:
        """{"labels": every label of the training data}."""
        return {"labels": sorted({label for example in train for label in example.gold})}

    def write(self, path: Path, examples: Sequence[Any], predicted: Sequence[Sequence[str]]) -> None:
        """Write `columns` and predicted label, a word a line, separated by tabs; a blank line after each sentence.

        White space inside a word is escaped, as in every file of predictions (see `escaped` in columns.py).
        """
        with atomic_write(path, "w") as handle:
            for example, labels in zip(examples, predicted, strict=True):
                rows = zip(*self.columns(example), labels, strict=True)
                handle.write("".join("\t".join(map(escaped, row)) + "\n" for row in rows) + "\n")

    def within(
        self, example: Any, predicted: Sequence[str], keeps: Callable[[Sequence[str]], bool]
    ) -> tuple[list[str], list[str]] | None:
        """Gold and predicted labels of the words that `keeps` accepts; None if there are none."""
        places = [place for place, word in enumerate(example.tokens) if keeps((word,))]
        return ([example.gold[p] for p in places], [predicted[p] for p in places]) if places else None


class TokenAccuracy(LabelAccuracy):
    """The share of words whose predicted label is the gold one, punctuation included: a `contracts.Metric`."""

    formula = "token-accuracy"  # 100 · correct / tokens: an item holds several decisions
    summed = ("correct", "tokens")
    whole = unit = "tokens"

    def counts(self, gold: Sequence[Labels], predicted: Sequence[Labels]) -> dict[str, np.ndarray]:
        """By sentence: how many labels are right, of how many; and counts by label.

        Raises ValueError as for single labels, and if a sentence has more labels on one side.
        """
        if [*map(len, gold)] != [*map(len, predicted)]:
            raise ValueError("gold and predicted labels must be as many")
        check_lengths([*chain(*gold)], [*chain(*predicted)])
        right = [sum(g == p for g, p in zip(*pair, strict=True)) for pair in zip(gold, predicted, strict=True)]
        counts = {"correct": np.array(right), "tokens": np.array([len(labels) for labels in gold])}
        return counts | count_labels(gold, predicted)

    def units(self, sums: Sums) -> Any:
        return sums["tokens"]

    def read_labels(self, path: Path) -> tuple[list[Any], list[Any]]:
        """The labels of a file: a word a line, gold and predicted label in its last two columns. Raises UserError."""
        sentences = [[cells for _, cells in rows] for rows in read_columns(path)]
        if not sentences or len(sentences[0][0]) < 3:
            raise UserError(f"{path}: no predictions. Each line must have a word, its gold and its predicted label.")
        check_gold(path, (cells[-2] for sentence in sentences for cells in sentence), UNKNOWN)
        sides = [[[cells[side] for cells in sentence] for sentence in sentences] for side in (-2, -1)]
        return sides[0], sides[1]


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
