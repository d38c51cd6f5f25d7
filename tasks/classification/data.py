"""Texts of the user's own, with one label each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmo_bench.text.own_data import OwnData
from elmo_bench.text.tables import Row


@dataclass(frozen=True)
class Text:
    """A tokenised text and its label."""

    tokens: tuple[str, ...]
    label: str | None  # None: unknown, in a file to predict
    row: Row = field(default_factory=dict, repr=False, compare=False)  # that it was read from

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.tokens,)

    @property
    def gold(self) -> str | None:
        return self.label


class Data(OwnData):
    """Reads tables with a text and a label in each row."""

    schema = "classification-1"
    parts = ("text", "label")
    unit = "texts"

    def example(self, row: Row, names: Mapping[str, str], where: str) -> Text:
        return Text(self.text(row.get(names["text"]), where), self.label(row.get(names.get("label", "")), where), row)

    def canonical(self, example: Text) -> dict[str, Any]:
        """Tokens and label."""
        return {"tokens": example.tokens, "label": example.label}

    def vocabulary(self, train: Sequence[Text]) -> dict[str, list[str]]:
        """{"labels": those of the training data}."""
        return {"labels": sorted({example.label for example in train if example.label is not None})}

    def write(self, path: Path, examples: Sequence[Text], predicted: Sequence[str]) -> None:
        """Write the rows with two more columns, gold and predicted, in the form that the path's ending names."""
        self.write_rows(path, [each.row for each in examples], [each.label for each in examples], predicted)
