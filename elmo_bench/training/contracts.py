"""What a task is to the package: objects that Hydra builds from `conf/task/<name>.yaml`. Protocols, no base classes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from elmo_bench.text.batch import Indexer, Text


class Example(Protocol):
    """One item of a data set. Its `repr` says all that it holds: the data fingerprint is taken from it."""

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

    def score(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
        """{"overall": {figure: number}} and, where there are classes, "by_type"."""

    def outcomes(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, np.ndarray]:
        """Whole numbers from 0 for each example, for paired tests."""

    def score_file(self, path: Path) -> dict[str, Any]:
        """The same figures for a file of predictions. Raises UserError."""

    def table(self, scores: dict[str, Any]) -> str:
        """The scores as text."""
