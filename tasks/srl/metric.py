"""Precision, recall and F1 of arguments, equal to srl-eval.pl (CoNLL-2005); imports no torch."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.formula import Formula, columns, ratio
from elmo_bench.tasks.srl.columns import Phrase, tag_phrases
from elmo_bench.tasks.srl.props import read_props
from elmo_bench.text.figures import count_types, figure_table, percent, shares

Tags = Sequence[Sequence[str]]  # BIO tags of each proposition
Compared = tuple[list[str], list[str], list[str]]  # labels of correct, excess and missed arguments
EXCLUDED = "V"  # counted separately, as the predicate is given
# Micro-averaged F1: 200 · correct / (2 · correct + excess + missed).
F1_ERRORS = Formula(
    "f1-errors",
    ("correct", "excess", "missed"),
    columns,
    lambda sums: 200 * ratio(sums[..., 0], 2 * sums[..., 0] + sums[..., 1] + sums[..., 2]),
    lambda sums: sums[0] + sums[2],
)


class Metric:
    """Exact match of arguments (label, span, every piece), micro-averaged over all labels but V."""

    main = "f1"
    formula = F1_ERRORS
    files = ("GOLD.props", "PREDICTED.props")

    def score(self, gold: Tags, predicted: Tags) -> dict[str, Any]:
        """{"overall": {correct, excess, missed, precision, recall, f1, n_props, perfect_props}, "by_type": {label: …}}.

        Percentages are unrounded, and 0 if the divisor is 0. `by_type` includes the excluded V. Raises ValueError if
        gold and predicted differ in length or contain something that is not a tag.
        """
        scores = _official(_pairs(gold, predicted))
        overall = {**scores["overall"], "n_props": scores["n_props"], "perfect_props": scores["perfect_props"]}
        return {"overall": overall, "by_type": {**scores["labels"], **scores["excluded"]}}

    def outcomes(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """Counts of each proposition, for paired tests: correct, excess, missed arguments, uint32 [propositions].

        And counts by label, the excluded V among them.
        """
        pairs = _pairs(gold, predicted)
        labels = {name: [pair[side] for pair in pairs] for side, name in enumerate(("correct", "excess", "missed"))}
        counts = {name: np.array([len(_counted(own)) for own in items], np.uint32) for name, items in labels.items()}
        return counts | count_types(labels)

    def score_files(self, gold: Path, predicted: Path) -> dict[str, Any]:
        """{"overall", "labels", "excluded", "n_props", "perfect_props"} of two props files. Raises UserError.

        A predicted proposition that is missing, or whose predicate has a different name, misses all arguments.
        Predicted propositions that the gold lacks are ignored.
        """
        pairs: list[Compared] = []
        empty = True
        for ours, theirs in zip_longest(read_props(gold), read_props(predicted)):
            empty = False
            if not (ours and theirs) or ours.length != theirs.length:
                where = f"{predicted}:{theirs.line}" if theirs else f"{predicted}"
                there = f"{theirs.length} tokens" if theirs else "nothing"
                here = f"{ours.length} tokens at {gold}:{ours.line}" if ours else f"nothing more in {gold}"
                raise UserError(f"{where}: {there} for {here}. Both files must have the same sentences.")
            for token, prop in ours.props.items():
                other = theirs.props.get(token)
                phrases = other.phrases if other and other.name == prop.name else []
                pairs.append(compare(arguments(prop.phrases), arguments(phrases)))
        if empty:
            raise UserError(f"{gold}: no sentences. Give a props file.")
        return _official(pairs)

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label, V last, like srl-eval.pl's."""
        overall = scores["overall"]
        told = {**overall, **scores}  # either of the two shapes
        labels = scores["by_type"] if "by_type" in scores else {**scores["labels"], **scores["excluded"]}
        rows = {"overall": overall, **{name: labels[name] for name in sorted(labels, key=lambda x: (x == EXCLUDED, x))}}
        columns = {"precision": "precision", "recall": "recall", "F1": "f1"}
        columns |= {name: name for name in ("correct", "excess", "missed")}
        head = f"{told['n_props']} propositions, {told['perfect_props']:.2f} % of them perfect; V is excluded"
        return f"{head}\n{figure_table(rows, columns)}"


class Argument(NamedTuple):
    """From the start of its first piece to the end of its last; `pieces` is empty where it is one phrase."""

    start: int
    end: int
    label: str
    pieces: list[tuple[int, int]]


def arguments(phrases: Iterable[Phrase]) -> list[Argument]:
    """The arguments of phrases. C-X continues the latest X (or C-X without an X); otherwise it is an X itself."""
    roles: list[Argument] = []
    latest: dict[str, int] = {}
    for start, end, label, inner in phrases:
        kind = label.removeprefix("C-")
        if kind != label and kind in latest:
            before = roles[latest[kind]]
            before.pieces.extend([(start, end)] if before.pieces else [(before.start, before.end), (start, end)])
            roles[latest[kind]] = before._replace(end=end)
        else:
            latest[kind] = len(roles)
            roles.append(Argument(start, end, kind, list(inner)))
    return roles


def compare(gold: Sequence[Argument], predicted: Sequence[Argument]) -> Compared:
    """The labels of the correct, the excess and the missed arguments.

    An argument is correct if label, span and every piece match. Of gold arguments with one span the last counts.
    """
    wanted = {(a.start, a.end): a for a in gold}
    correct, excess = [], []
    for a in predicted:
        other = wanted.get((a.start, a.end))
        if other and other.label == a.label and sorted(set(other.pieces)) == sorted(a.pieces):
            correct.append(a.label)
            del wanted[a.start, a.end]
        else:
            excess.append(a.label)
    return correct, excess, [a.label for a in wanted.values()]


def _pairs(gold: Tags, predicted: Tags) -> list[Compared]:
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError("gold and predicted differ in the number of propositions or in one's number of tags")
    return [compare(arguments(tag_phrases(g)), arguments(tag_phrases(p))) for g, p in zip(gold, predicted, strict=True)]


def _official(pairs: Sequence[Compared]) -> dict[str, Any]:
    correct, excess, missed = (Counter(label for pair in pairs for label in pair[side]) for side in range(3))
    figures = {
        label: _figures(correct[label], excess[label], missed[label]) for label in sorted(correct | excess | missed)
    }
    excluded = {label: figures.pop(label) for label in [EXCLUDED] if label in figures}
    totals = (sum(row[name] for row in figures.values()) for name in ("correct", "excess", "missed"))
    perfect = sum(not _counted(wrong) and not _counted(lost) for _, wrong, lost in pairs)
    return {
        "overall": _figures(*totals),
        "labels": figures,
        "excluded": excluded,
        "n_props": len(pairs),
        "perfect_props": percent(perfect, len(pairs)),
    }


def _counted(labels: Iterable[str]) -> list[str]:
    return [label for label in labels if label != EXCLUDED]


def _figures(correct: int, excess: int, missed: int) -> dict[str, Any]:
    rates = shares(correct, correct + excess, correct + missed)
    return {"correct": correct, "excess": excess, "missed": missed, **rates}
