"""Accuracy and macro-averaged F1 over labels that the data name; imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from elmo_bench.text.figures import LabelAccuracy, shares
from elmo_bench.text.own_data import GOLD, PREDICTED, with_gold
from elmo_bench.text.tables import read_table


class Metric(LabelAccuracy):
    """The percentage of items with the right label, and the mean of the labels' F1."""

    def score(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
        """{"overall": {accuracy, macro_f1, correct, items}, "by_type": {label: {recall, correct, guessed, gold}}}.

        Macro-F1 is the unweighted mean over the labels of gold and predicted, as in scikit-learn's f1_score
        (average="macro"). Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are
        empty.
        """
        scores = super().score(gold, predicted)
        f1 = [shares(own["correct"], own["guessed"], own["gold"])["f1"] for own in scores["by_type"].values()]
        scores["overall"]["macro_f1"] = fmean(f1)
        return scores

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a table with the columns gold and predicted. Raises UserError."""
        rows = with_gold(read_table(path), path)
        return self.score(*([str(row[side]).strip() for row in rows] for side in (GOLD, PREDICTED)))

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        return f"{super().table(scores)}\nmacro-F1 {scores['overall']['macro_f1']:.2f} %"
