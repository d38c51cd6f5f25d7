"""Figures that several metrics have in common, and their tables; imports no torch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import MACRO_F1, TYPE, Sums, scores_of, split_type
from elmo_bench.text.columns import check_gold, filled_lines

COUNTED = ("correct", "guessed", "gold")  # of a label
SHARES = ("precision", "recall", "f1")  # in percent; in a table with two decimals
# Labels times items: the most labels and the most items of a split that own data may
# have (MOST_LABELS of own_checks.py, MOST_ITEMS of the ledger).
MOST_CELLS = 1000 * 10**6


def ratio(part: Any, whole: Any) -> np.ndarray:
    """part / whole, numbers or arrays [...]; 0 where whole is 0."""
    out = np.zeros(np.broadcast(part, whole).shape)
    return np.divide(part, whole, out=out, where=np.greater(whole, 0))


def percent(part: Any, whole: Any) -> np.ndarray:
    """100 part / whole, unrounded; 0 where there is nothing to divide by."""
    return ratio(100 * part, whole)


def shares(correct: Any, guessed: Any, gold: Any) -> dict[str, np.ndarray]:
    """Precision, recall and F1 in percent, unrounded.

    Source: van Rijsbergen (1979), Information retrieval.
    """
    precision = percent(correct, guessed)
    recall = percent(correct, gold)
    f1 = ratio(2 * precision * recall, precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1}


def types_in(sums: Sums) -> list[str]:
    """The types that sums have counts of, in their order."""
    types = [split_type(name)[0] for name in sums if name.startswith(TYPE)]
    return list(dict.fromkeys(types))


def by_type(
    sums: Sums,
    figures: Callable[[Sums], Mapping[str, Any]],
    names: Sequence[str] = (),
) -> dict[str, Any]:
    """`type:NAME.FIGURE`, [...] each, from the sums `type:NAME.COUNT`.

    Nothing without such sums.

    figures: of the sums of one type, by the names of their counts; it gets all types at
    once, [..., types].
    names: the types in order, also those that nothing counts for; default: those in the
    sums.
    """
    counts: dict[str, dict[str, Any]] = {}
    for key, value in sums.items():
        if key.startswith(TYPE):
            name, count = split_type(key)
            counts.setdefault(count, {})[name] = value
    if not counts:
        return {}
    order = names or types_in(sums)
    any_count = next(iter(counts.values()))
    zero = np.zeros_like(next(iter(any_count.values())))
    stacked: dict[str, np.ndarray] = {}
    for count, values in counts.items():
        arrays = [np.asarray(values.get(name, zero)) for name in order]
        stacked[count] = np.stack(arrays, axis=-1)
    rows: dict[str, Any] = {}
    table: dict[str, Any] = {}
    for figure, values in figures(stacked).items():
        by_place = np.moveaxis(values, -1, 0)
        # Of numbers, Python's own: taking them out one by one takes longer.
        table[figure] = by_place.tolist() if by_place.ndim == 1 else by_place
    for place, name in enumerate(order):
        for figure, values in table.items():
            rows[f"{TYPE}{name}.{figure}"] = values[place]
    return rows


def figure_table(
    rows: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str], *, least: int = 0
) -> str:
    """Figures as text, one row a name.

    columns: the key of a figure by heading. least: characters of the names.
    """
    wide = max([least, *map(len, rows)])
    widths: list[int] = []
    for heading, key in columns.items():
        widths.append(max(len(heading), 6 if key in SHARES else 5))
    table = [["", *columns]]
    for name, row in rows.items():
        table.append([name, *(_shown(key, row[key]) for key in columns.values())])
    lines: list[str] = []
    for name, *cells in table:
        aligned = map(str.rjust, cells, widths)
        lines.append("  ".join([name.ljust(wide), *aligned]))
    return "\n".join(lines)


def _shown(key: str, value: Any) -> str:
    return f"{value:.2f}" if key in SHARES else f"{value}"


def count_types(
    labels: Mapping[str, Sequence[Collection[str]]],
) -> dict[str, np.ndarray]:
    """{`type:NAME.COUNT`: [items]}, from which figures by type follow.

    They have the smallest unsigned type, as there may be many labels and items.

    labels: for each count, the labels of each item: a label as often as it counts.
    Raises UserError for more than MOST_CELLS labels times items.
    """
    used: set[str] = set()
    for items in labels.values():
        used.update(*items)
    names = sorted(used)
    longest = max(map(len, labels.values()), default=0)
    if len(names) * longest > MOST_CELLS:
        raise UserError(
            f"{len(names):,} different labels in {longest:,} items are too many to "
            "count each. Score fewer items, or check that this is the column of labels."
        )
    places = {name: place for place, name in enumerate(names)}
    outcomes: dict[str, np.ndarray] = {}
    for count, items in labels.items():
        most = max(map(len, items), default=0)
        table = np.zeros((len(names), len(items)), np.min_scalar_type(most))
        for number, item in enumerate(items):
            for label in item:
                table[places[label], number] += 1
        for name, row in zip(names, table, strict=True):
            outcomes[f"type:{name}.{count}"] = row
    return outcomes


def count_labels(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict[str, np.ndarray]:
    """`count_types` of items that hold a label for each of their parts.

    The counts are correct, guessed and gold.
    """
    right: list[list[str]] = []
    for item in zip(gold, predicted, strict=True):
        pairs = zip(*item, strict=True)
        right.append([label for label, guess in pairs if label == guess])
    return count_types({"correct": right, "guessed": predicted, "gold": gold})


def label_table(scores: Mapping[str, Any], counted: str) -> str:
    """The scores as text, one row a label.

    `counted` says how many items there were, such as `12 words`.
    """
    overall = scores["overall"]
    accuracy = f"accuracy {overall['accuracy']:.2f} %"
    columns = {
        "recall": "recall",
        "right": "correct",
        "found": "guessed",
        "gold": "gold",
    }
    table = figure_table(scores["by_type"], columns, least=6)
    return f"{counted}, {overall['correct']} right; {accuracy}\n{table}"


def label_figures(sums: Sums) -> dict[str, Any]:
    """The figures of a label: recall in percent, correct, guessed and gold."""
    recall = percent(sums["correct"], sums["gold"])
    counts = {name: sums[name] for name in COUNTED}
    return {"recall": recall, **counts}


class LabelAccuracy:
    """The percentage of items with the right label: a `contracts.Metric`."""

    main = "accuracy"
    formula = "accuracy"  # 100 · correct / items: an item is right or wrong
    summed: tuple[str, ...] = ("correct",)
    files: tuple[str, ...] = ("FILE",)
    # Of the labels, in the order of the rows; without any, all labels that occur.
    names: Mapping[Any, str] = {}
    unknown: tuple[str, ...] = ()  # gold labels that do not count
    whole = "items"  # the count that is divided by
    unit = "items"  # what a figure calls it

    def counts(
        self, gold: Sequence[Any], predicted: Sequence[Any]
    ) -> dict[str, np.ndarray]:
        """correct: 1 where the label is right, uint8 [items]. And by label.

        `count_labels` makes the counts by label. Raises ValueError if gold and
        predicted differ in length or are empty.
        """
        check_lengths(gold, predicted)
        pairs = zip(gold, predicted, strict=True)
        # An array of labels would have the longest label's size for each item.
        right = np.fromiter((label == guess for label, guess in pairs), np.uint8)
        gold_names = [(self.names.get(label, label),) for label in gold]
        predicted_names = [(self.names.get(label, label),) for label in predicted]
        return {"correct": right} | count_labels(gold_names, predicted_names)

    def figures(self, sums: Sums) -> dict[str, Any]:
        """accuracy, correct, UNIT; of each label recall, correct, guessed, gold.

        Percentages are unrounded.
        """
        whole = sums[self.whole]
        overall = {
            "accuracy": percent(sums["correct"], whole),
            "correct": sums["correct"],
            self.unit: whole,
        }
        return overall | by_type(sums, label_figures, [*self.names.values()])

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file.

        Each line is an item: gold label, tab, predicted label; further columns are
        ignored. Raises UserError with file and line.
        """
        return scores_of(self, self.counts(*self.read_labels(path)))

    def read_labels(self, path: Path) -> tuple[list[Any], list[Any]]:
        """The gold and the predicted labels of such a file.

        Raises UserError with file and line.
        """
        labels = {str(label): label for label in self.names}
        rows: list[tuple[int, list[str]]] = []
        for number, line in filled_lines(path):
            rows.append((number, [cell.strip() for cell in line.split("\t")[:2]]))
        check_gold(path, [cells[0] for _, cells in rows])
        for number, cells in rows:
            where = f"{path}:{number}"
            if len(cells) < 2:
                raise UserError(
                    f"{where}: expected gold label, tab, predicted label. "
                    "Fix this line."
                )
            gold, predicted = cells
            _check_label(where, gold, labels, self.unknown)
            _check_label(where, predicted, labels)
        return (
            [labels.get(cells[0], cells[0]) for _, cells in rows],
            [labels.get(cells[1], cells[1]) for _, cells in rows],
        )

    def table(self, scores: Mapping[str, Any]) -> str:
        return label_table(scores, f"{scores['overall'][self.unit]} {self.unit}")


def macro_f1(sums: Sums) -> np.ndarray:
    """The unweighted mean of the labels' F1, in percent and unrounded [...].

    sums: `type:LABEL.correct`, `.guessed` and `.gold` [...]. The labels are those that
    gold or predicted has, as in scikit-learn's `f1_score(average="macro")`.
    """
    by_count = []
    labels = types_in(sums)
    for count in COUNTED:
        of_labels = [np.asarray(sums[f"{TYPE}{label}.{count}"]) for label in labels]
        by_count.append(np.stack(of_labels, axis=-1))
    _, guessed, gold = by_count
    f1 = shares(*by_count)["f1"]
    return ratio(f1.sum(axis=-1), np.greater(guessed + gold, 0).sum(axis=-1))


class LabelMacroF1(LabelAccuracy):
    """The unweighted mean of the labels' F1, as the main figure: a `contracts.Metric`.

    A task's metric names its labels: `class Metric(LabelMacroF1): names = {"a": "a"}`.
    A label that neither gold nor predicted has does not count.
    """

    main = MACRO_F1
    formula = "macro-f1"  # the mean of 2 · correct / (guessed + gold) over labels
    summed: tuple[str, ...] = ()
    summed_types: tuple[str, ...] = COUNTED

    def figures(self, sums: Sums) -> dict[str, Any]:
        """macro_f1, and the figures of `LabelAccuracy`; percentages are unrounded."""
        return {MACRO_F1: macro_f1(sums)} | super().figures(sums)


def _check_label(
    where: str, cell: str, labels: Collection[str], unknown: Collection[str] = ()
) -> None:
    """Raise UserError for a cell that is neither a label nor marks a missing label."""
    if cell not in labels and cell not in unknown:
        expected = f"expected {', '.join(labels)}. Fix this line."
        raise UserError(f"{where}: {cell!r} is not a label: {expected}")


def check_lengths(gold: Sequence[Any], predicted: Sequence[Any]) -> None:
    """Raise ValueError if gold and predicted differ in length or are empty."""
    if len(gold) != len(predicted) or not gold:
        lengths = f"{len(gold)} gold labels, {len(predicted)} predicted ones"
        raise ValueError(f"{lengths}: as many, and some, are needed")
