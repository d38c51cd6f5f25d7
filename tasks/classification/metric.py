"""Accuracy and macro-averaged F1 over labels that the data name; imports no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_bench.base.metric import MACRO_F1, Sums
from elmo_bench.text.figures import LabelAccuracy, LabelMacroF1, macro_f1, types_in
from elmo_bench.text.own_checks import GOLD, PREDICTED, note_alike, scored_rows
from elmo_bench.text.tables import read_table


class _Table(LabelAccuracy):
    """Labels in a table; their scores as text."""

    def read_labels(self, path: Path) -> tuple[list[str], list[str]]:
        """The labels of a table with the columns gold and predicted.

        Raises UserError.
        """
        rows = scored_rows(read_table(path), path)
        gold = [str(row[GOLD]).strip() for row in rows]
        predicted = [str(row[PREDICTED]).strip() for row in rows]
        note_alike({*gold, *predicted}, "Each counts alone. Write them alike", path)
        return gold, predicted

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        macro = scores["overall"][MACRO_F1]
        return f"{super().table(scores)}\nmacro-F1 {macro:.2f} %"


class MacroF1(_Table, LabelMacroF1):
    """The same figures; the mean of the labels' F1 selects the epoch."""


class Metric(_Table):
    """The percentage of items with the right label, and the mean of the labels' F1."""

    others = (MacroF1,)

    def figures(self, sums: Sums) -> dict[str, Any]:
        """accuracy, correct, items, macro_f1; of each label its counts and recall.

        The counts of a label are correct, guessed and gold. Percentages are unrounded.
        """
        figures = super().figures(sums)
        if types_in(sums):
            figures[MACRO_F1] = macro_f1(sums)
        return figures
