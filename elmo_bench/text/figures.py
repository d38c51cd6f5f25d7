"""Figures that several metrics have in common, and their tables; imports no torch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import TYPE, Sums, scores_of, split_type
from elmo_bench.text.columns import check_gold, filled_lines

SHARES = ("precision", "recall", "f1")  # in percent; in a table with two decimals


def ratio(part: Any, whole: Any) -> np.ndarray:
    """part / whole, numbers or arrays [...]; 0 where whole is 0."""
    out = np.zeros(np.broadcast(part, whole).shape)
    return np.divide(part, whole, out=out, where=np.greater(whole, 0))


def percent(part: Any, whole: Any) -> np.ndarray:
    """100 part / whole, unrounded; 0 where there is nothing to divide by."""
    return ratio(100 * part, whole)


def shares(correct: Any, guessed: Any, gold: Any) -> dict[str, np.ndarray]:
    """Precision, recall and F1 (van Rijsbergen 1979, Information retrieval) in percent, unrounded."""
    precision = percent(correct, guessed)
    recall = percent(correct, gold)
    f1 = ratio(2 * precision * recall, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}


def types_in(sums: Sums) -> list[str]:
    """The types that sums have counts of, in their order."""
    return list(dict.fromkeys(split_type(name)[0] for name in sums if name.startswith(TYPE)))


def by_type(sums: Sums, figures: Callable[[Sums], Mapping[str, Any]], names: Sequence[str] = ()) -> dict[str, Any]:
    """`type:NAME.FIGURE`, [...] each, from the sums `type:NAME.COUNT`; nothing without such sums.

    figures: of the sums of one type, by the names of their counts; it gets all types at once, [..., types].
    names: the types in order, also those that nothing counts for; default: those in the sums.
    """
    counts: dict[str, dict[str, Any]] = {}
    for key, value in sums.items():
        if key.startswith(TYPE):
            name, count = split_type(key)
            counts.setdefault(count, {})[name] = value
    if not counts:
        return {}
    order = names or types_in(sums)
    zero = np.zeros_like(next(iter(next(iter(counts.values())).values())))
    stacked = {
        count: np.stack([np.asarray(values.get(name, zero)) for name in order], axis=-1)
        for count, values in counts.items()
    }
    rows: dict[str, Any] = {}
    table = figures(stacked)
    for place, name in enumerate(order):
        rows |= {f"{TYPE}{name}.{figure}": values[..., place] for figure, values in table.items()}
    return rows


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


def label_figures(sums: Sums) -> dict[str, Any]:
    """The figures of a label: recall in percent, correct, guessed and gold."""
    recall = percent(sums["correct"], sums["gold"])
    return {"recall": recall, **{name: sums[name] for name in ("correct", "guessed", "gold")}}


class LabelAccuracy:
    """The percentage of items with the right label: a `contracts.Metric`."""

    main = "accuracy"
    formula = "accuracy"  # 100 · correct / items: an item is right or wrong
    summed: tuple[str, ...] = ("correct",)
    files: tuple[str, ...] = ("FILE",)
    names: Mapping[Any, str] = {}  # of the labels, in the order of the rows; without any, all labels that occur
    unknown: tuple[str, ...] = ()  # gold labels that do not count
    whole = "items"  # the count that is divided by
    unit = "items"  # what a figure calls it

    def counts(self, gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, np.ndarray]:
        """correct: 1 where the label is right, uint8 [items]. And by label, as `count_labels`.

        Raises ValueError if gold and predicted differ in length or are empty.
        """
        check_lengths(gold, predicted)
        right = (np.array(gold) == np.array(predicted)).astype(np.uint8)
        sides = [[(self.names.get(label, label),) for label in labels] for labels in (gold, predicted)]
        return {"correct": right} | count_labels(*sides)

    def figures(self, sums: Sums) -> dict[str, Any]:
        """accuracy, correct, UNIT; of each label recall, correct, guessed, gold. Percentages are unrounded."""
        whole = sums[self.whole]
        overall = {"accuracy": percent(sums["correct"], whole), "correct": sums["correct"], self.unit: whole}
        return overall | by_type(sums, label_figures, [*self.names.values()])

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file. Each line is an item: gold label, tab, predicted label; further columns are ignored.

        Raises UserError with file and line.
        """
        return scores_of(self, self.counts(*self.read_labels(path)))

    def read_labels(self, path: Path) -> tuple[list[Any], list[Any]]:
        """The gold and the predicted labels of such a file. Raises UserError with file and line."""
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
        sides = [[written.get(cells[side], cells[side]) for _, cells in rows] for side in (0, 1)]
        return sides[0], sides[1]

    def table(self, scores: Mapping[str, Any]) -> str:
        return label_table(scores, f"{scores['overall'][self.unit]} {self.unit}")


def check_lengths(gold: Sequence[Any], predicted: Sequence[Any]) -> None:
    """Raise ValueError if gold and predicted differ in length or are empty."""
    if len(gold) != len(predicted) or not gold:
        raise ValueError(f"{len(gold)} gold labels, {len(predicted)} predicted ones: as many, and some, are needed")
