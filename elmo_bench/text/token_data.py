"""The data of tasks with a label for each word: what their `data.py` have in common; imports no torch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.sources import SuiteData
from elmo_bench.text.escaped import escaped
from elmo_bench.text.token_labels import CONTROL, GOLD, control_labels


class TokenData(SuiteData):
    """A `contracts.Data` for a task to complete. Its examples are dataclasses with `tokens` and `gold`, one label each.

    labels: `gold`, or `control`: a random label for each word (`control_labels`).

    A task gives `schema`, `field` (of an example: its labels), `read_file` and `columns`.
    """

    schema: str
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

        White space inside a word is escaped, as in every file of predictions (see escaped.py).
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
