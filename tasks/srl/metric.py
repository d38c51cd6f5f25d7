"""Precision, recall and F1 of arguments; imports no torch.

They are equal to the figures of srl-eval.pl (CoNLL-2005).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Counts, Sums, scores_from, sums_of
from elmo_bench.tasks.srl.brackets import Phrase, tag_phrases
from elmo_bench.tasks.srl.props import PropsSentence, read_props
from elmo_bench.text.figures import (
    by_type,
    count_types,
    figure_table,
    percent,
    shares,
    types_in,
)

Tags = Sequence[Sequence[str]]  # BIO tags of each proposition
# Labels of correct, excess and missed arguments.
Compared = tuple[list[str], list[str], list[str]]
COUNTED = ("correct", "excess", "missed")
EXCLUDED = "V"  # counted separately, as the predicate is given


class Metric:
    """Exact match of arguments (label, span, every piece).

    Micro-averaged over all labels but V.
    """

    main = "f1"
    formula = "f1-errors"  # from correct, excess and missed arguments
    summed = COUNTED
    files = ("GOLD.props", "PREDICTED.props")

    def counts(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """By proposition, uint32: correct, excess and missed arguments.

        Also by label, the excluded V among them. Raises ValueError if gold and
        predicted differ in length or contain something that is not a tag.
        """
        return _counts(_pairs(gold, predicted))

    def per_item(self, counts: Counts) -> dict[str, np.ndarray]:
        """Whether a proposition has no error."""
        return {"perfect": (counts["excess"] == 0) & (counts["missed"] == 0)}

    def figures(self, sums: Sums) -> dict[str, Any]:
        """correct, excess, missed, precision, recall, f1; n_props, perfect_props.

        All but the last two also of each label, V last.
        """
        props = sums["items"]
        perfect = percent(sums["perfect"], props)
        labels = sorted(types_in(sums), key=_excluded_last)
        figures = _argument_figures(sums)
        figures |= {"n_props": props, "perfect_props": perfect}
        return figures | by_type(sums, _argument_figures, labels)

    def units(self, sums: Sums) -> Any:
        return sums["correct"] + sums["missed"]

    def score_files(self, gold: Path, predicted: Path) -> dict[str, Any]:
        """The scores of two props files.

        {"overall", "labels", "excluded", "n_props", "perfect_props"}. A predicted
        proposition that is missing, or whose predicate has a different name, misses all
        arguments. Predicted propositions that the gold lacks are ignored. Raises
        UserError.
        """
        pairs: list[Compared] = []
        empty = True
        for ours, theirs in zip_longest(read_props(gold), read_props(predicted)):
            empty = False
            _check_lengths(gold, ours, predicted, theirs)
            for token, prop in ours.props.items():
                other = theirs.props.get(token)
                phrases = other.phrases if other and other.name == prop.name else []
                pairs.append(compare(arguments(prop.phrases), arguments(phrases)))
        if empty:
            raise UserError(f"{gold}: no sentences. Give a props file.")
        # Of no propositions too, as the official scorer.
        scores = scores_from(self, sums_of(self, _counts(pairs)))
        overall, labels = scores["overall"], scores.get("by_type", {})
        more = {name: overall.pop(name) for name in ("n_props", "perfect_props")}
        excluded = {name: labels.pop(name) for name in [EXCLUDED] if name in labels}
        return {"overall": overall, "labels": labels, "excluded": excluded, **more}

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a label, V last, like srl-eval.pl's."""
        overall = scores["overall"]
        props = {**overall, **scores}  # either of the two shapes
        labels = scores.get("by_type")
        if labels is None:
            labels = {**scores["labels"], **scores["excluded"]}
        rows = {"overall": overall}
        for name in sorted(labels, key=_excluded_last):
            rows[name] = labels[name]
        columns = {"precision": "precision", "recall": "recall", "F1": "f1"}
        columns |= {name: name for name in COUNTED}
        perfect = f"{props['perfect_props']:.2f} % of them perfect"
        head = f"{props['n_props']} propositions, {perfect}; V is excluded"
        return f"{head}\n{figure_table(rows, columns)}"


def _check_lengths(
    gold: Path,
    ours: PropsSentence | None,
    predicted: Path,
    theirs: PropsSentence | None,
) -> None:
    """Raises UserError unless both files have this sentence, of as many tokens."""
    if ours and theirs and ours.length == theirs.length:
        return
    where, there = f"{predicted}", "nothing"
    if theirs:
        where, there = f"{predicted}:{theirs.line}", f"{theirs.length} tokens"
    here = f"nothing more in {gold}"
    if ours:
        here = f"{ours.length} tokens at {gold}:{ours.line}"
    raise UserError(
        f"{where}: {there} for {here}. Both files must have the same sentences."
    )


class Argument(NamedTuple):
    """From the start of its first piece to the end of its last."""

    start: int
    end: int
    label: str
    pieces: list[tuple[int, int]]  # empty where it is one phrase


def arguments(phrases: Iterable[Phrase]) -> list[Argument]:
    """The arguments of phrases.

    C-X continues the latest X (or C-X without an X); otherwise it is an X itself.
    """
    roles: list[Argument] = []
    latest: dict[str, int] = {}
    for start, end, label, inner in phrases:
        kind = label.removeprefix("C-")
        if kind != label and kind in latest:
            before = roles[latest[kind]]
            if not before.pieces:
                before.pieces.append((before.start, before.end))
            before.pieces.append((start, end))
            roles[latest[kind]] = before._replace(end=end)
        else:
            latest[kind] = len(roles)
            roles.append(Argument(start, end, kind, list(inner)))
    return roles


def compare(gold: Sequence[Argument], predicted: Sequence[Argument]) -> Compared:
    """The labels of the correct, the excess and the missed arguments.

    An argument is correct if label, span and every piece match. Of gold arguments with
    one span the last counts.
    """
    wanted = {(a.start, a.end): a for a in gold}
    correct, excess = [], []
    for a in predicted:
        other = wanted.get((a.start, a.end))
        if other and _is_equal(a, other):
            correct.append(a.label)
            del wanted[a.start, a.end]
        else:
            excess.append(a.label)
    return correct, excess, [a.label for a in wanted.values()]


def _is_equal(predicted: Argument, gold: Argument) -> bool:
    """Whether label and pieces match, of arguments with one span."""
    same_pieces = sorted(set(gold.pieces)) == sorted(predicted.pieces)
    return gold.label == predicted.label and same_pieces


def _pairs(gold: Tags, predicted: Tags) -> list[Compared]:
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError(
            "gold and predicted differ in the number of propositions "
            "or in one's number of tags"
        )
    pairs = []
    for g, p in zip(gold, predicted, strict=True):
        pairs.append(compare(arguments(tag_phrases(g)), arguments(tag_phrases(p))))
    return pairs


def _counts(pairs: Sequence[Compared]) -> dict[str, np.ndarray]:
    counts = {}
    labels = {}
    for side, name in enumerate(COUNTED):
        labels[name] = [pair[side] for pair in pairs]
        sizes = [len(items) - items.count(EXCLUDED) for items in labels[name]]
        counts[name] = np.array(sizes, np.uint32)
    return counts | count_types(labels)


def _argument_figures(sums: Sums) -> dict[str, Any]:
    counts = {name: sums[name] for name in COUNTED}
    correct, excess, missed = counts.values()
    return counts | shares(correct, correct + excess, correct + missed)


def _excluded_last(label: str) -> tuple[bool, str]:
    return label == EXCLUDED, label
