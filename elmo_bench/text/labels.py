"""Accuracy of single labels, and the recall of each label; imports no torch."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any


def score_labels(gold: Sequence[Hashable], predicted: Sequence[Hashable], names: Mapping[Any, str]) -> dict[str, Any]:
    """{"overall": {accuracy, correct}, "by_type": {name: {recall, correct, guessed, gold}}}, percentages unrounded.

    names: of the labels, in the order of the rows. Raises ValueError if the sides differ in length or are empty.
    """
    if len(gold) != len(predicted) or not gold:
        raise ValueError(f"{len(gold)} gold labels and {len(predicted)} predicted ones: as many, and some, are needed")
    right = Counter(g for g, p in zip(gold, predicted, strict=True) if g == p)
    wanted, guessed = Counter(gold), Counter(predicted)
    return {
        "overall": {"accuracy": 100 * right.total() / len(gold), "correct": right.total()},
        "by_type": {
            name: {
                "recall": 100 * right[label] / wanted[label] if wanted[label] else 0.0,
                "correct": right[label],
                "guessed": guessed[label],
                "gold": wanted[label],
            }
            for label, name in names.items()
        },
    }


def label_table(scores: Mapping[str, Any], counted: str) -> str:
    """The scores as text, one row a label. `counted` says how many items there were, such as `12 words`."""
    overall, rows = scores["overall"], scores["by_type"]
    wide = max(6, *map(len, rows))
    head = f"{counted}, {overall['correct']} right; accuracy {overall['accuracy']:.2f} %"
    lines = [
        f"{name:<{wide}}  {row['recall']:6.2f}  {row['correct']:5d}  {row['guessed']:5d}  {row['gold']:5d}"
        for name, row in rows.items()
    ]
    return "\n".join([head, f"{'':<{wide}}  recall  right  found   gold", *lines])
