"""A trained head on a file of new text."""

from collections.abc import Mapping
from pathlib import Path

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import keep_inputs
from elmo_bench.base.reading import check_regular
from elmo_bench.runner.trained import TrainedHead, no_probabilities
from elmo_bench.spec.config import reads_own_data
from elmo_bench.text.own_texts import with_probabilities


def predict(
    record_file: Path,
    text: Path,
    out: Path,
    *columns: str,
    weights: str | None = None,
    vectors: str | None = None,
    probabilities: bool = False,
) -> int:
    """Write the predictions of a record's head for a file in its task's native format;
    the number of examples.

    columns: options such as `data.text=body`, in place of the record's. weights and
    vectors say where the frozen parts are; needed if the record does not name published
    ones. probabilities: a column for each label, too. Raises UserError, also if the
    frozen parts are not the ones that the head was trained with.
    """
    keep_inputs(out, (text, record_file))
    check_regular(text, once=False)
    trained = TrainedHead(record_file, *columns, weights=weights, vectors=vectors)
    data = trained.data
    examples = data.read_file(text)
    if not examples:
        raise UserError(
            f"{text}: no example in it. Give text in the format of the task's card."
        )
    if probabilities:
        if not reads_own_data(trained.spec.task):
            raise UserError(no_probabilities(trained.spec.task))
        found = trained.probabilities(examples)
        examples = with_probabilities(examples, found)
        data.write(out, examples, [most_probable(answer) for answer in found])
    else:
        data.write(out, examples, trained.predictions(examples))
    return len(examples)


def most_probable(answer: Mapping[str, float] | None) -> str | None:
    """The label with the highest probability; None without an answer."""
    return max(answer, key=answer.__getitem__) if answer else None
