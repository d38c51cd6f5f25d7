"""What a task provides: `Data`, `Head` and `Metric`.

They are in `data.py`, `head.py` and `metric.py` of its folder. These are protocols, not
base classes. `Data` and `Metric` import no torch.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from elmo_bench.base.metric import Counting
from elmo_bench.text.batch import Indexer, Text


class Example(Protocol):
    """One item of a data set.

    It may have a `group`, of examples that were drawn together (the pairs of one
    premise, say): data.train_fraction keeps them together, and reports count them as
    one when they ask what other items would do. Where its texts are parts of longer
    ones (phrases of a sentence), it has these as `whole`, and the vocabulary counts
    each of them once. `slice_words` are the words that decide to which slices of test
    it belongs, if these are not the words of all texts. `marks` is what else tables may
    ask of it, {name: true or false}, such as whether a predicate is a verb: outcomes
    keep the names that all examples of a split have. Marks change no score and are not
    in `Data.canonical`.
    """

    texts: tuple[Text, ...]
    """The tokenised sequences that the encoder reads."""
    gold: Any
    """What the metric compares a prediction with.

    A text, a whole number, or one text for each token are labels.
    """


class Data(Protocol):
    """Reads the suites.

    Built with the keyword arguments under `data` in `conf/task/<task>.yaml`: one a
    suite, or options of own data. For slices of test by units that are not examples, it
    has `within(example, predicted, keeps) -> (gold, predicted)`: of the gold and of a
    prediction, the entities (or chains, or words) whose words `keeps` accepts. It
    returns None to leave the example out, which must not depend on the prediction.
    With `of_texts(texts)`, the Examples of texts in memory, without gold, `load` takes
    the task's heads.
    """

    schema: str
    """Name of the JSON layout that `canonical` gives.

    A change of the layout takes a new name.
    """
    ending: str
    """Of a file of predictions, with its dot."""

    def read(self, suite: str, root: Path | None) -> dict[str, list[Any]]:
        """{"train", "dev", "test"}: lists of Example.

        `root` is the user's data folder. Raises UserError.
        """

    def files(self, suite: str, root: Path | None) -> list[Path]:
        """The files that `read` reads. Raises UserError where one is missing."""

    def canonical(self, example: Any) -> Any:
        """An example as a JSON value in the layout `schema`.

        It holds everything that can change a score. The data digest in a run's hash is
        computed from these values, so they hold no path and no Python name.
        """

    def vocabulary(self, train: Sequence[Any]) -> dict[str, Any]:
        """What the head needs to know about the training data.

        Its keyword arguments: lists of texts or counts.
        """

    def read_file(self, path: Path) -> list[Any]:
        """The Examples of one file in the task's native format, for `predict`.

        Their gold may be missing.
        """

    def write(
        self, path: Path, examples: Sequence[Any], predicted: Sequence[Any]
    ) -> None:
        """Write predictions as a file in the official format, which `score` reads."""


class Head(Protocol):
    """A torch module.

    Built with `embedder`, the vocabulary and the numbers under `head` in the yaml. A
    head whose loss is a sum has `items`: how many items (sentences, say) the last loss
    is the sum of. The penalty of the mixes is multiplied by it, so that λ means the
    same in every task and for every size of a batch. In a task on own data it may have
    `probabilities(batch)`: for each example {label: probability}, or a list of them,
    one for each token.
    """

    embedder: Any
    """The `elmo_bench.encoders.embedder.Embedder` that the head was built with."""

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """A batch: tensors and TextBatches."""

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """A scalar."""

    def predict(self, batch: dict[str, Any]) -> list[Any]:
        """One prediction for each example, in the order of the batch."""


class Floor(Protocol):
    """A head without vectors, which is fitted with scikit-learn, not trained.

    Built as a Head, and with what its own `vocabulary` finds. Its weights are
    parameters or buffers, so that they are kept. It draws no random numbers.
    """

    embedder: Any
    """What the floor was built with; it reads nothing of it."""

    @staticmethod
    def vocabulary(train: Sequence[Any], **numbers: Any) -> dict[str, Any]:
        """More of the head's keyword arguments: lists of texts or counts.

        numbers: those under `head` in the yaml.
        """

    def fits(self, train: Sequence[Any], times: int) -> Iterator[Any]:
        """Fit so many times, each with other options.

        After each, the head has the weights. Yields an object for each fit, whose
        `steps` and `loss` count as an epoch's.
        """

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """A batch."""

    def predict(self, batch: dict[str, Any]) -> list[Any]:
        """One prediction for each example, in the order of the batch."""


class Metric(Counting, Protocol):
    """The official figures, each said once.

    They are `counts`, and `figures` of their sums (`base/metric.py`); `main` names the
    figure that selects the epoch, which is from 0 to 100. It may also have
    `table(scores)`, the scores as text; `per_item(counts)`, counts that follow from the
    others item by item and are not stored, such as the F1 of a question; and
    `units(sums)`, how many decisions or gold units sums are of, if these are not the
    items; `summed_types`, the counts of each type that the main figure sums; and
    `others`, classes of metrics with the same counts and another main figure, which
    `task.metric` chooses.
    """

    @property
    def files(self) -> tuple[str, ...]:
        """The files that `elmo-bench score` takes, as its usage line names them."""

    @property
    def score_files(self) -> Callable[..., dict[str, Any]]:
        """The figures of files in the official formats.

        A function of one path for each of `files`. The keys are the keys of
        `base.metric.scores_of`, or the official scorer's if it has different ones:
        then `table` accepts both. Raises UserError.
        """
