"""Tasks with a label for each word.

CoNLL-U files, the common part of their `data.py`, their metric, control labels. Imports
no torch.
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
from elmo_bench.base.notes import note
from elmo_bench.base.reading import reader
from elmo_bench.base.sources import SuiteData
from elmo_bench.text.columns import (
    NO_GOLD,
    WORD_NUMBER,
    Row,
    check_gold,
    escaped,
    read_columns,
    sentences,
)
from elmo_bench.text.figures import LabelAccuracy, check_lengths, count_labels

COLUMNS = 10  # of CoNLL-U
ID = 0
FORM = 1
XPOS = 4
HEAD = 6
DEPREL = 7
GOLD = "gold"
CONTROL = "control"
# Labels of words without gold: of CoNLL-U, and of other text.
UNKNOWN = ("_", NO_GOLD)
Labels = Sequence[str]


@reader
def read_conllu(path: Path) -> Iterator[list[Row]]:
    """The words of each sentence of a CoNLL-U file of Universal Dependencies.

    Only words with whole numbers, neither ranges (`3-4`) nor words that are only
    understood (`8.1`), as every reader of UD does. Empty sentences are skipped. Raises
    UserError with file and line, also for a number of another form.
    """

    def rows() -> Iterator[Row]:
        for number, line in read_lines(path):
            cells = line.split("\t") if line.strip() else []
            if line.startswith("#"):
                continue
            if len(cells) not in (0, COLUMNS):
                raise UserError(
                    f"{path}:{number}: expected {COLUMNS} columns, found {len(cells)}. "
                    "Fix this line."
                )
            place = cells[ID].strip("\0") if cells else ""  # NUL bytes are noted
            if cells and not WORD_NUMBER.fullmatch(place):
                raise UserError(
                    f"{path}:{number}: {place[:20]!a} is not the number of a word. "
                    "Fix this line."
                )
            if not cells:
                yield number, cells
            elif place.isdecimal():
                yield number, [place, *cells[1:]]

    return sentences(rows())


class TokenData(SuiteData):
    """A `contracts.Data` for a task to complete.

    Its examples are dataclasses with `tokens` and `gold`, one label each.

    labels: `gold`, or `control`: a random label for each word (`control_labels`).

    A task gives `schema`, `field` (of an example: its labels), `read_file` and
    `columns`.
    """

    field: str
    ending = ".txt"
    sources = ("files",)

    def __init__(self, *, labels: str = GOLD, **suites: Mapping[str, Any]):
        if labels not in (GOLD, CONTROL):
            raise UserError(
                f"task.data.labels={labels}: unknown. Choose {GOLD} or {CONTROL}."
            )
        super().__init__(**suites)
        self.labels = labels

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        splits = super().read(suite, root)
        for split, examples in splits.items():
            labels = [*_labels(examples)]
            labelled = len(_known(labels))
            if not labelled:
                raise UserError(
                    f"task.data.{suite}.{split}: its words have no labels. "
                    "Give files with labels."
                )
            missing = len(labels) - labelled
            if missing:
                which = f"{missing:,} of {len(labels):,}"
                note(
                    f"{split}: words without a label, in no loss and no score: {which}"
                )
            # A batch without any label has no loss.
            splits[split] = [example for example in examples if _known(example.gold)]
        if self.labels == CONTROL:
            control = control_labels(_known(_labels(splits["train"])))
            for split, examples in splits.items():
                splits[split] = [
                    self._relabelled(example, control) for example in examples
                ]
        return splits

    def _relabelled(self, example: Any, label_of: Callable[[str], str]) -> Any:
        """The example with other labels of its words, where they have one."""
        labels = []
        for word, label in zip(example.tokens, example.gold, strict=True):
            labels.append(label if label in UNKNOWN else label_of(word))
        return replace(example, **{self.field: tuple(labels)})

    def columns(self, example: Any) -> Sequence[Sequence[str]]:
        """The columns of a file of predictions before the predicted label.

        The first has the words.
        """
        raise NotImplementedError

    def vocabulary(self, train: Sequence[Any]) -> dict[str, list[str]]:
        """{"labels": every label of the training data}."""
        return {"labels": sorted({*_known(_labels(train))})}

    def write(
        self,
        path: Path,
        examples: Sequence[Any],
        predicted: Sequence[Sequence[str]],
    ) -> None:
        """Write `columns` and predicted label, a word a line, separated by tabs.

        A blank line follows each sentence. White space inside a word is escaped, as in
        every file of predictions (see `escaped` in columns.py).
        """
        with atomic_write(path, "w") as handle:
            for example, labels in zip(examples, predicted, strict=True):
                for cells in zip(*self.columns(example), labels, strict=True):
                    handle.write("\t".join(map(escaped, cells)) + "\n")
                handle.write("\n")

    def within(
        self,
        example: Any,
        predicted: Sequence[str],
        keeps: Callable[[Sequence[str]], bool],
    ) -> tuple[list[str], list[str]] | None:
        """As `labels_within`."""
        return labels_within(example, predicted, keeps)


def labels_within(
    example: Any,
    predicted: Sequence[str],
    keeps: Callable[[Sequence[str]], bool],
) -> tuple[list[str], list[str]] | None:
    """Gold and predicted labels of the words that `keeps` accepts; None if none.

    example: has `tokens` and `gold`, one label each.
    """
    places = [place for place, word in enumerate(example.tokens) if keeps((word,))]
    if not places:
        return None
    gold = [example.gold[place] for place in places]
    return gold, [predicted[place] for place in places]


def _labels(examples: Iterable[Any]) -> Iterator[str]:
    """The label of each word of some examples."""
    return chain.from_iterable(example.gold for example in examples)


def _known(labels: Iterable[str]) -> list[str]:
    """The labels of the words that have one."""
    return [label for label in labels if label not in UNKNOWN]


class TokenAccuracy(LabelAccuracy):
    """The share of words whose predicted label is the gold one: a `contracts.Metric`.

    Punctuation is included, and words without gold are not.
    """

    # 100 · correct / tokens: an item holds several decisions.
    formula = "token-accuracy"
    summed = ("correct", "tokens")
    whole = unit = "tokens"

    def counts(
        self, gold: Sequence[Labels], predicted: Sequence[Labels]
    ) -> dict[str, np.ndarray]:
        """By sentence: how many labels are right, of how many; and counts by label.

        Raises ValueError as for single labels, and if a sentence has more labels on one
        side.
        """
        if [len(labels) for labels in gold] != [len(labels) for labels in predicted]:
            raise ValueError("gold and predicted labels must be as many")
        check_lengths([*chain(*gold)], [*chain(*predicted)])
        golds: list[Labels] = []
        guesses: list[Labels] = []
        for labels, answers in zip(gold, predicted, strict=True):
            pairs = zip(labels, answers, strict=True)
            golds.append(_known(labels))
            guesses.append([guess for label, guess in pairs if label not in UNKNOWN])
        right = [_count_right(*labels) for labels in zip(golds, guesses, strict=True)]
        tokens = [len(labels) for labels in golds]
        counts = {"correct": np.array(right), "tokens": np.array(tokens)}
        return counts | count_labels(golds, guesses)

    def units(self, sums: Sums) -> Any:
        return sums["tokens"]

    def read_labels(self, path: Path) -> tuple[list[Any], list[Any]]:
        """The labels of a file, with a note about words without gold.

        A word a line, gold and predicted label in its last two columns. Raises
        UserError.
        """
        gold: list[list[str]] = []
        predicted: list[list[str]] = []
        for rows in read_columns(path):
            if not gold and len(rows[0][1]) < 3:
                break
            gold.append([cells[-2] for _, cells in rows])
            predicted.append([cells[-1] for _, cells in rows])
        if not gold:
            line = "a word, its gold and its predicted label"
            raise UserError(f"{path}: no predictions. Each line must have {line}.")
        labels = [*chain.from_iterable(gold)]
        check_gold(path, labels, UNKNOWN)
        missing = len(labels) - len(_known(labels))
        if missing:
            which = f"{missing:,} of {len(labels):,}"
            note(f"words without a gold label, which do not count: {which}", path)
        return gold, predicted


def _count_right(gold: Labels, predicted: Labels) -> int:
    return sum(label == guess for label, guess in zip(gold, predicted, strict=True))


def control_labels(train: Iterable[str]) -> Callable[[str], str]:
    """A function from a word to its control label.

    It is drawn for each distinct word from the labels of the training words. A probe
    can learn these labels only word by word. Its accuracy on the true labels less its
    accuracy on control labels is its selectivity. Equal for equal training labels.
    Source: Hewitt and Liang (2019), Designing and interpreting probes with control
    tasks, section 2.
    """
    counts = sorted(Counter(train).items())
    labels = [label for label, _ in counts]
    weights = [count for _, count in counts]

    @cache
    def control(word: str) -> str:
        draw = random.Random(f"0 {word}")  # as in every record of control labels
        return draw.choices(labels, weights)[0]

    return control
