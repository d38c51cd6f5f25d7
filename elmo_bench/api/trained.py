"""`load`: the trained head of a run, for texts of a program."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import include_given
from elmo_bench.base.machine import wait_asleep
from elmo_bench.cli.inputs import record_in
from elmo_bench.ledger import Record
from elmo_bench.runner.trained import TrainedHead, no_probabilities
from elmo_bench.spec.task_files import reads_own_data
from elmo_bench.text.schemes import SINGLE

if TYPE_CHECKING:
    import pandas as pd


class Predictor:
    """A trained head with its frozen encoder; made by `load`.

    Texts are strings, which are tokenised as the run's data were, or lists of tokens.
    They are read in batches, and a call on many texts is faster than many calls. The
    same texts have the same answers as a file of them has from `elmo-bench predict`.
    """

    def __init__(self, head: TrainedHead):
        self._head = head

    def predict(self, texts: Sequence[Any]) -> list[Any]:
        """The label of each text, of each pair (premise, hypothesis); or its tags.

        On data of your own, None for an empty text, and for None or NaN. Raises
        UserError.
        """
        predicted = self._head.predictions(self._examples(texts))
        if reads_own_data(self._head.spec.task):
            return [_plain(answer) for answer in predicted]
        return predicted

    def probabilities(self, texts: Sequence[Any]) -> "pd.DataFrame":
        """A row for each text, with the probability of each label in its column.

        Rows of empty texts are missing numbers. For `tagging` a row for each token; its
        index is the number of the text, the place in it, and the token. A tag's
        probability sums over all sequences with this tag at this token, so the most
        probable tags need not be the sequence that `predict` returns.

        Raises UserError unless the task reads data of your own.
        """
        import pandas as pd

        task = self._head.spec.task
        if not reads_own_data(task):
            raise UserError(no_probabilities(task))
        examples = self._examples(texts)
        probabilities = self._head.probabilities(examples)
        data: Any = self._head.data
        labels = data.answers(self._head.saved.about.vocabulary["labels"])
        if data.labels_tokens:
            return _of_tokens(examples, probabilities, labels)
        rows = [shares or {} for shares in probabilities]
        return pd.DataFrame(rows, columns=labels, dtype=float)

    def _examples(self, texts: Sequence[Any]) -> list[Any]:
        of_texts = getattr(self._head.data, "of_texts", None)
        if of_texts is None:
            raise UserError(
                f"task={self._head.spec.task}: reads files alone. "
                "Write one in its format, and use `elmo-bench predict RECORD FILE OUT`."
            )
        examples: list[Any] = of_texts(texts)
        return examples


def _of_tokens(
    examples: Sequence[Any], probabilities: Sequence[Any], labels: Sequence[str]
) -> "pd.DataFrame":
    """A row for each token; no row of a text without tokens."""
    import pandas as pd

    rows = []
    index = []
    for number, (example, tokens) in enumerate(
        zip(examples, probabilities, strict=True)
    ):
        for place, shares in enumerate(tokens or ()):
            rows.append(shares)
            index.append((number, place, example.tokens[place]))
    names = ["text", "place", "token"]
    tokens_index = pd.MultiIndex.from_tuples(index, names=names)
    return pd.DataFrame(rows, index=tokens_index, columns=labels, dtype=float)


def load(
    record: str | Path, *, weights: str | None = None, vectors: str | None = None
) -> Predictor:
    """The trained head of a run, from the file of its record or of an exported one.

    record: `results/runs/…/seed0.json`, next to the folder with its head, or the file
    of a folder that `elmo-bench export` wrote. The frames of `sweep` and `results` have
    these paths in their column `record`. weights and vectors: the frozen parts, if the
    run did not name published ones.

    Weights and vectors are read with the first text, which takes seconds: a program
    that serves texts predicts one when it starts.

    Raises UserError if the head is not there or does not fit the record. Frozen parts
    that are missing, or others than the head was trained with, are refused when the
    first text is read.
    """
    wait_asleep()
    include_given([])
    path = _path_of(record)
    record_in(path)
    return Predictor(TrainedHead(path, weights=weights, vectors=vectors))


def _path_of(record: Any) -> Path:
    """The path that was given. Raises UserError for something else, such as a Record.

    A record does not know its ledger.
    """
    if isinstance(record, str | os.PathLike):
        return Path(record)
    row = ".iloc[0]"
    if isinstance(record, Record):
        row = f".query(\"hash == '{record.hash}' and seed == {record.seed}\"){row}"
    raise UserError(
        f"load: this is a {type(record).__name__}, not the path of a record. "
        f'Give one, such as elmo_bench.results("results/runs"){row}.record.'
    )


def _plain(answer: Any) -> Any:
    """Tags without the prefix that plain ones have inside."""
    if isinstance(answer, list):
        return [tag.removeprefix(SINGLE) for tag in answer]
    return answer
