"""Accuracy and macro-averaged F1 over labels that the data name; imports no torch."""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from elmo_bench.base.metric import Sums
from elmo_bench.text.figures import LabelAccuracy, by_type, shares
from elmo_bench.text.own_checks import GOLD, PREDICTED, scored_rows
from elmo_bench.text.tables import read_table


class Metric(LabelAccuracy):
    """The percentage of items with the right label, and the mean of the labels' F1."""

    def figures(self, sums: Sums) -> dict[str, Any]:
        """accuracy, correct, items, macro_f1; of each label its counts and recall.

        The counts of a label are correct, guessed and gold. Macro-F1 is the unweighted
        mean over the labels of gold and predicted, as in scikit-learn's f1_score
        (average="macro"). Percentages are unrounded.
        """
        figures = super().figures(sums)
        f1 = [*by_type(sums, _f1).values()]
        if f1:
            by_label = np.stack(f1, axis=-1)
            figures["macro_f1"] = np.apply_along_axis(fmean, -1, by_label)
        return figures

    def read_labels(self, path: Path) -> tuple[list[str], list[str]]:
        """The labels of a table with the columns gold and predicted.

        Raises UserError.
        """
        rows = scored_rows(read_table(path), path)
        gold = [str(row[GOLD]).strip() for row in rows]
        return gold, [str(row[PREDICTED]).strip() for row in rows]

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        macro_f1 = scores["overall"]["macro_f1"]
        return f"{super().table(scores)}\nmacro-F1 {macro_f1:.2f} %"


def _f1(sums: Sums) -> dict[str, Any]:
    figures = shares(sums["correct"], sums["guessed"], sums["gold"])
    return {"f1": figures["f1"]}
