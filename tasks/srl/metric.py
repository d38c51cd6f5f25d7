"""Precision, recall and F1 of arguments, equal to srl-eval.pl (CoNLL-2005); imports no torch."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Counts, Sums, scores_from, sums_of
from elmo_bench.tasks.srl.columns import Phrase, tag_phrases
from elmo_bench.tasks.srl.props import read_props
from elmo_bench.text.figures import by_type, count_types, figure_table, percent, shares, types_in

Tags = Sequence[Sequence[str]]  # BIO tags of each proposition
Compared = tuple[list[str], list[str], list[str]]  # labels of correct, excess and missed arguments
EXCLUDED = "V"  # counted separately, as the predicate is given


class Metric:
    """Exact match of arguments (label, span, every piece), micro-averaged over all labels but V."""

    main = "f1"
    formula = "f1-errors"  # from correct, excess and missed arguments
    summed = ("correct", "excess", "missed")
    files = ("GOLD.props", "PREDICTED.props")

    def counts(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """By proposition, uint32: correct, excess and missed arguments; also by label, the excluded V among them.

        Raises ValueError if gold and predicted differ in length or contain something that is not a tag.
        """
        return _counts(_pairs(gold, predicted))

    def per_item(self, counts: Counts) -> dict[str, np.ndarray]:
        """Whether a proposition has no error."""
        return {"perfect": (counts["excess"] == 0) & (counts["missed"] == 0)}

    def figures(self, sums: Sums) -> dict[str, Any]:
        """correct, excess, missed, precision, recall, f1, also of each label, V last; n_props, perfect_props."""
        props = {"n_props": sums["items"], "perfect_props": percent(sums["perfect"], sums["items"])}
        labels = sorted(types_in(sums), key=_excluded_last)
        return _argument_figures(sums) | props | by_type(sums, _argument_figures, labels)

    def units(self, sums: Sums) -> Any:
        return sums["correct"] + sums["missed"]

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
        scores = scores_from(self, sums_of(self, _counts(pairs)))  # of no propositions too, as the official scorer
        overall, labels = scores["overall"], scores.get("by_type", {})
        more = {name: overall.pop(name) for name in ("n_props", "perfect_props")}
        excluded = {name: labels.pop(name) for name in [EXCLUDED] if name in labels}
        return {"overall": overall, "labels": labels, "excluded": excluded, **more}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label, V last, like srl-eval.pl's."""
        overall = scores["overall"]
        told = {**overall, **scores}  # either of the two shapes
        labels = scores["by_type"] if "by_type" in scores else {**scores["labels"], **scores["excluded"]}
        rows = {"overall": overall, **{name: labels[name] for name in sorted(labels, key=_excluded_last)}}
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


def _counts(pairs: Sequence[Compared]) -> dict[str, np.ndarray]:
    labels = {name: [pair[side] for pair in pairs] for side, name in enumerate(("correct", "excess", "missed"))}
    counts = {}
    for name, items in labels.items():
        counted = [[label for label in item if label != EXCLUDED] for item in items]
        counts[name] = np.array([*map(len, counted)], np.uint32)
    return counts | count_types(labels)


def _argument_figures(sums: Sums) -> dict[str, Any]:
    counts = {name: sums[name] for name in ("correct", "excess", "missed")}
    correct = counts["correct"]
    return counts | shares(correct, correct + counts["excess"], correct + counts["missed"])


def _excluded_last(label: str) -> tuple[bool, str]:
    return label == EXCLUDED, label
