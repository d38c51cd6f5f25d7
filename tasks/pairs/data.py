"""Pairs of sentences of the user's own, with one label each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmo_bench.text.own_data import OwnData
from elmo_bench.text.tables import Row


@dataclass(frozen=True)
class Pair:
    """Two tokenised sentences and their label."""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str | None  # None: unknown, in a file to predict
    row: Row = field(default_factory=dict, repr=False, compare=False)  # that it was read from

    @property
    def group(self) -> tuple[str, ...]:
        """Pairs of one premise stay together, in a split and in a fraction of the training data."""
        return self.premise

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return (self.premise, self.hypothesis)

    @property
    def gold(self) -> str | None:
        return self.label


class Data(OwnData):
    """Reads tables with two texts and a label in each row."""

    schema = "pairs-1"
    parts = ("premise", "hypothesis", "label")
    unit = "pairs"

    def example(self, row: Row, names: Mapping[str, str], where: str) -> Pair:
        texts = (self.text(row.get(names[part]), where) for part in self.parts[:2])
        return Pair(*texts, self.label(row.get(names.get("label", "")), where), row)

    def canonical(self, example: Pair) -> dict[str, Any]:
        """Both sentences and the label."""
        return {"premise": example.premise, "hypothesis": example.hypothesis, "label": example.label}

    def vocabulary(self, train: Sequence[Pair]) -> dict[str, list[str]]:
        """{"labels": those of the training data}."""
        return {"labels": sorted({example.label for example in train if example.label is not None})}

    def write(self, path: Path, examples: Sequence[Pair], predicted: Sequence[str]) -> None:
        """Write the rows with two more columns, gold and predicted, in the form that the path's ending names."""
        self.write_rows(path, [each.row for each in examples], [each.label for each in examples], predicted)
