"""What a task is to the package: objects that Hydra builds from `conf/task/<name>.yaml`. Protocols, no base classes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from elmo_bench.text.batch import Indexer, Text


class Example(Protocol):
    """One item of a data set. Its `repr` says all that it holds: the data fingerprint is taken from it.

    It may have a `group`: examples of equal ones (the pairs of a premise, say) stay together in data.train_fraction.
    """

    @property
    def texts(self) -> tuple[Text, ...]:
        """The tokenised texts that the encoder must see."""

    @property
    def gold(self) -> Any:
        """What the metric compares predictions with."""


class Data(Protocol):
    """`task.data`: the adapter to the suites."""

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        """{"train", "dev", "test"}: lists of Example. Raises UserError."""

    def vocabulary(self, train: Sequence[Any]) -> dict[str, Any]:
        """What the head must know of the training data, as plain JSON; the head gets it as keywords."""

    ending: str  # of a file of predictions, with its dot

    def read_file(self, path: Path) -> list[Any]:
        """The Examples of one file in the task's native format, for `predict`; their gold may be missing there."""

    def write(self, path: Path, examples: Sequence[Any], predicted: Sequence[Any]) -> None:
        """Predictions as a file in the official format, which `score` reads (beside the gold where it needs it)."""


class Head(Protocol):
    """`task.head`: a torch module, built with `embedder`, the vocabulary and the numbers of its yaml."""

    embedder: Any

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """A batch: tensors and TextBatches."""

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """A scalar."""

    def predict(self, batch: dict[str, Any]) -> list[Any]:
        """One prediction an example, in the order of the batch."""


class Metric(Protocol):
    """`task.metric`: the official figures; imports no torch."""

    main: str  # the figure in score(...)["overall"] that selects the epoch, higher is better
    files: tuple[str, ...]  # what `score` must be given: the files' names in its usage line

    def score(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
        """{"overall": {figure: number}} and, where there are classes, "by_type"."""

    def outcomes(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, np.ndarray]:
        """Whole numbers from 0 for each item that a paired test may swap, under names that stand for a formula.

        The names and their formulas are in elmo_bench/reporting/formulas.py; summed, they must give the main score.
        """

    def score_files(self, *paths: Path) -> dict[str, Any]:
        """The figures of files in the official formats, one path for each of `files`. Raises UserError.

        Their keys are those of `score`, or the official scorer's where it has its own; `table` knows both.
        """

    def table(self, scores: dict[str, Any]) -> str:
        """The scores as text."""
