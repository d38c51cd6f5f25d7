"""Figures that several metrics have in common, and their tables; imports no torch."""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import Formula, columns, ratio, share, with_items
from elmo_bench.text.columns import read_label_pairs

SHARES = ("precision", "recall", "f1")  # in percent; in a table with two decimals
# 100 · correct / items: an item is right or wrong.
ACCURACY = Formula("accuracy", ("correct",), with_items, share, lambda sums: sums[1])
# Micro-averaged F1 (van Rijsbergen 1979, Information retrieval): 200 · correct / (guessed + gold).
F1_COUNTS = Formula(
    "f1-counts",
    ("correct", "guessed", "gold"),
    columns,
    lambda sums: 200 * ratio(sums[..., 0], sums[..., 1] + sums[..., 2]),
    lambda sums: sums[2],
)


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


def count_types(labels: Mapping[str, Sequence[Collection[str]]]) -> dict[str, np.ndarray]:
    """{`type:NAME.COUNT`: uint32 [items]}, the outcomes from which figures by type follow.

    labels: for each count, the labels of each item: a label as often as it counts.
    """
    names = sorted({label for items in labels.values() for item in items for label in item})
    places = {name: place for place, name in enumerate(names)}
    outcomes: dict[str, np.ndarray] = {}
    for count, items in labels.items():
        table = np.zeros((len(names), len(items)), np.uint32)
        for number, item in enumerate(items):
            for label in item:
                table[places[label], number] += 1
        outcomes |= {f"type:{name}.{count}": row for name, row in zip(names, table, strict=True)}
    return outcomes


def count_labels(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """`count_types` of items that hold a label for each of their parts: correct, guessed and gold."""
    pairs = zip(gold, predicted, strict=True)
    right = [[g for g, p in zip(*pair, strict=True) if g == p] for pair in pairs]
    return count_types({"correct": right, "guessed": predicted, "gold": gold})


def label_table(scores: Mapping[str, Any], counted: str) -> str:
    """The scores as text, one row a label. `counted` says how many items there were, such as `12 words`."""
    overall = scores["overall"]
    head = f"{counted}, {overall['correct']} right; accuracy {overall['accuracy']:.2f} %"
    columns = {"recall": "recall", "right": "correct", "found": "guessed", "gold": "gold"}
    return f"{head}\n{figure_table(scores['by_type'], columns, least=6)}"


class LabelAccuracy:
    """The percentage of items with the right label: a `contracts.Metric` for a task to complete."""

    main = "accuracy"
    formula = ACCURACY
    files: tuple[str, ...] = ("FILE",)
    names: Mapping[Any, str] = {}  # of the labels; others have none
    unknown: tuple[str, ...] = ()  # gold labels that do not count
    unit = "items"

    def score(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, UNIT}, "by_type": {label's name: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        scores = score_labels(gold, predicted, self.names)
        scores["overall"][self.unit] = len(gold)
        return scores

    def outcomes(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, np.ndarray]:
        """For paired tests: {"correct": uint8 [items], 1 where the label is right}; and counts by label."""
        sides = [[(self.names.get(label, label),) for label in labels] for labels in (gold, predicted)]
        return {"correct": (np.array(gold) == np.array(predicted)).astype(np.uint8)} | count_labels(*sides)

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file. Each line is an item: gold label, tab, predicted label; further columns are ignored.

        Raises UserError with file and line.
        """
        written = {str(label): label for label in self.names}
        pairs = read_label_pairs(path, gold=(*written, *self.unknown), predicted=written, expected=", ".join(written))
        if not pairs:
            raise UserError(f"{path}: no labels. Each line must have gold label, tab, predicted label")
        return self.score([written.get(gold, gold) for gold, _ in pairs], [written[label] for _, label in pairs])

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label."""
        return label_table(scores, f"{scores['overall'][self.unit]} {self.unit}")
