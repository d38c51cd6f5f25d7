"""Figures that several metrics have in common, and their tables; imports no torch."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

SHARES = ("precision", "recall", "f1")  # in percent; in a table with two decimals


def percent(part: float, whole: float) -> float:
    """100 part / whole, unrounded; 0 if there is nothing to divide by."""
    return 100 * part / whole if whole else 0.0


def shares(correct: float, guessed: float, gold: float) -> dict[str, float]:
    """Precision, recall and F1 in percent, unrounded."""
    precision, recall = percent(correct, guessed), percent(correct, gold)
    f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def figure_table(rows: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str], *, least: int = 0) -> str:
    """Figures as text, one row a name. columns: the key of a figure by heading; least: characters of the names."""
    lines = [["", *columns]]
    for name, row in rows.items():
        lines.append([name, *(f"{row[key]:.2f}" if key in SHARES else f"{row[key]}" for key in columns.values())])
    widths = [max(len(heading), 6 if key in SHARES else 5) for heading, key in columns.items()]
    wide = max([least, *map(len, rows)])
    return "\n".join("  ".join([name.ljust(wide), *map(str.rjust, cells, widths)]) for name, *cells in lines)


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
                "recall": percent(right[label], wanted[label]),
                "correct": right[label],
                "guessed": guessed[label],
                "gold": wanted[label],
            }
            for label, name in names.items()
        },
    }


def label_table(scores: Mapping[str, Any], counted: str) -> str:
    """The scores as text, one row a label. `counted` says how many items there were, such as `12 words`."""
    overall = scores["overall"]
    head = f"{counted}, {overall['correct']} right; accuracy {overall['accuracy']:.2f} %"
    columns = {"recall": "recall", "right": "correct", "found": "guessed", "gold": "gold"}
    return f"{head}\n{figure_table(scores['by_type'], columns, least=6)}"
