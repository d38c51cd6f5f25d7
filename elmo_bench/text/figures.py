"""Figures that several metrics have in common, and their tables; imports no torch."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import Formula, columns, ratio, share, with_items
from elmo_bench.text.columns import check_gold, filled_lines

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
    """The percentage of items with the right label: a `contracts.Metric`."""

    main = "accuracy"
    formula = ACCURACY
    files: tuple[str, ...] = ("FILE",)
    names: Mapping[Any, str] = {}  # of the labels, in the order of the rows; without any, all labels that occur
    unknown: tuple[str, ...] = ()  # gold labels that do not count
    unit = "items"

    def score(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
        """{"overall": {accuracy, correct, UNIT}, "by_type": {label's name: {recall, correct, guessed, gold}}}.

        Percentages are unrounded. Raises ValueError if gold and predicted differ in length or are empty.
        """
        if len(gold) != len(predicted) or not gold:
            raise ValueError(f"{len(gold)} gold labels, {len(predicted)} predicted ones: as many, and some, are needed")
        right = Counter(g for g, p in zip(gold, predicted, strict=True) if g == p)
        wanted, guessed = Counter(gold), Counter(predicted)
        names = self.names or {label: label for label in sorted({*gold, *predicted})}
        by_type = {
            name: {
                "recall": percent(right[label], wanted[label]),
                "correct": right[label],
                "guessed": guessed[label],
                "gold": wanted[label],
            }
            for label, name in names.items()
        }
        overall = {"accuracy": 100 * right.total() / len(gold), "correct": right.total(), self.unit: len(gold)}
        return {"overall": overall, "by_type": by_type}

    def outcomes(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, np.ndarray]:
        """For paired tests: {"correct": uint8 [items], 1 where the label is right}; and counts by label."""
        sides = [[(self.names.get(label, label),) for label in labels] for labels in (gold, predicted)]
        return {"correct": (np.array(gold) == np.array(predicted)).astype(np.uint8)} | count_labels(*sides)

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file. Each line is an item: gold label, tab, predicted label; further columns are ignored.

        Raises UserError with file and line.
        """
        written = {str(label): label for label in self.names}
        rows = [(number, [cell.strip() for cell in line.split("\t")[:2]]) for number, line in filled_lines(path)]
        check_gold(path, [cells[0] for _, cells in rows])
        for number, cells in rows:
            if len(cells) < 2:
                raise UserError(f"{path}:{number}: expected gold label, tab, predicted label. Fix this line.")
            for cell, known in zip(cells, ((*written, *self.unknown), written), strict=True):
                if cell not in known:
                    expected = f"expected {', '.join(written)}. Fix this line."
                    raise UserError(f"{path}:{number}: {cell!r} is not a label: {expected}")
        gold, predicted = ([written.get(cells[side], cells[side]) for _, cells in rows] for side in (0, 1))
        return self.score(gold, predicted)

    def table(self, scores: Mapping[str, Any]) -> str:
        return label_table(scores, f"{scores['overall'][self.unit]} {self.unit}")
