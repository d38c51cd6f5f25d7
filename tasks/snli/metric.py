"""Accuracy over three classes; imports no torch."""

from collections.abc import Mapping, Sequence
from typing import Any

from elmo_bench.tasks.snli.data import LABELS, NO_GOLD
from elmo_bench.text.figures import LabelAccuracy, label_table


class Metric(LabelAccuracy):
    """The percentage of pairs with the right label; pairs without a gold label are ignored, as in SNLI."""

    names: Mapping[str, str] = {label: label for label in LABELS}
    unknown = (NO_GOLD,)
    unit = "pairs"

    def score(self, gold: Sequence[str], predicted: Sequence[str]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, pairs, left_out}, "by_type": {label: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        both = [(g, p) for g, p in zip(gold, predicted, strict=True) if g != NO_GOLD]
        scores = super().score([g for g, _ in both], [p for _, p in both])
        scores["overall"]["left_out"] = len(gold) - len(both)
        return scores

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        overall = scores["overall"]
        left = f" ({overall['left_out']} without a gold label ignored)" if overall["left_out"] else ""
        return label_table(scores, f"{overall['pairs']} pairs{left}")
