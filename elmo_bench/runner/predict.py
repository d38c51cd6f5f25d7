"""A trained head on a file of new text."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_bench import ledger
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import check_unpacked_name
from elmo_bench.base.reading import check_regular
from elmo_bench.base.sources import TABLES
from elmo_bench.runner.named_parts import check_vectors, columns_of
from elmo_bench.spec.names import task_class
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.spec.task_files import reads_own_data
from elmo_bench.text.own_data import OwnData
from elmo_bench.text.own_texts import with_probabilities

if TYPE_CHECKING:
    from elmo_bench.runner.trained import Shares, TrainedHead


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
    ones. probabilities: a column for each label, too, in a table. Raises UserError,
    also if the frozen parts are not the ones that the head was trained with.
    """
    check_unpacked_name(out)
    check_regular(text, once=False)
    spec = RunSpec.of_record(ledger.read_record(record_file))
    columns_of(spec.task, columns)
    check_vectors(spec, vectors)
    if probabilities:
        _check_probabilities(spec.task, out)
    if reads_own_data(spec.task):
        data_class = task_class(spec.task, "data")
        if issubclass(data_class, OwnData):
            data_class.check_output(out)

    # Imported here, so that the mistakes above do not wait for torch.
    from elmo_bench.runner.trained import TrainedHead

    trained = TrainedHead(record_file, *columns, weights=weights, vectors=vectors)
    data = trained.data
    examples = data.read_file(text)
    if not examples:
        raise UserError(
            f"{text}: no example in it. Give text in the format of the task's card."
        )
    if probabilities:
        shares = trained.probabilities(examples)
        predicted = _predictions(trained, examples, shares)
        data.write(out, with_probabilities(examples, shares), predicted)
    else:
        data.write(out, examples, trained.predictions(examples))
    return len(examples)


def _check_probabilities(task: str, out: Path) -> None:
    """Raise UserError for a task without any, and a file without names of columns."""
    if not reads_own_data(task):
        from elmo_bench.runner.trained import no_probabilities

        raise UserError(no_probabilities(task))
    if out.suffix.lower() not in TABLES:
        raise UserError(
            f"{out}: --probabilities adds columns with names, which this form has not. "
            f"Give a file that ends in {', '.join(TABLES)}."
        )


def _predictions(
    trained: "TrainedHead",
    examples: Sequence[Any],
    probabilities: "Sequence[Shares | None]",
) -> list[Any]:
    """The prediction of each example with these probabilities.

    The best sequence of tags may have a tag that is not its token's most probable one.
    """
    if any(isinstance(shares, list) for shares in probabilities):
        return trained.predictions(examples)
    return [most_probable(shares) for shares in probabilities]


def most_probable(shares: "Shares | None") -> str | None:
    """The label with the highest probability; None without an answer."""
    if not isinstance(shares, dict):
        return None
    return max(shares, key=shares.__getitem__)
