"""Entity precision, recall and F1, equal to conlleval (version 2004-01-26); imports no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Sums, scores_of
from elmo_bench.text.columns import check_gold, read_columns
from elmo_bench.text.figures import by_type, count_types, figure_table, percent, shares
from elmo_bench.text.tags import spans, split_tag

SENTENCE_BOUNDARY = "-X-"  # the first cell of a line that conlleval takes for the end of a sentence
Tags = Sequence[Sequence[str]]  # one sequence of tags a sentence


class Metric:
    """Exact match of chunks (type, start, end), micro-averaged over types; tags in IOB1, BIO or a mixture."""

    main = "f1"
    formula = "f1-counts"  # from correct, guessed and gold chunks
    summed = ("correct", "guessed", "gold")
    files = ("FILE",)

    def counts(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """By sentence, uint32: correct, guessed and gold chunks, also by type; tokens, and those with the same tag.

        Raises ValueError if gold and predicted differ in length or contain something that is not a tag.
        """
        pairs = _pairs(gold, predicted)
        chunks = {"correct": [g & p for g, p in pairs], "guessed": [p for _, p in pairs], "gold": [g for g, _ in pairs]}
        counts = {name: np.array([*map(len, items)], np.uint32) for name, items in chunks.items()}
        same = [sum(g == p for g, p in zip(*tags, strict=True)) for tags in zip(gold, predicted, strict=True)]
        counts |= {"same_tags": np.array(same, np.uint32), "tokens": np.array([*map(len, gold)], np.uint32)}
        kinds = {name: [[kind for kind, *_ in chunk] for chunk in items] for name, items in chunks.items()}
        return counts | count_types(kinds)

    def figures(self, sums: Sums) -> dict[str, Any]:
        """precision, recall, f1, correct, guessed, gold, also of each type; accuracy, tokens.

        Accuracy compares tags as written, as conlleval does.
        """
        accuracy = {"accuracy": percent(sums["same_tags"], sums["tokens"]), "tokens": sums["tokens"]}
        return _chunk_figures(sums) | accuracy | by_type(sums, _chunk_figures)

    def units(self, sums: Sums) -> Any:
        return sums["gold"]

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file whose last two columns are the gold and the predicted tag.

        A line that begins with the cell -X- only ends a sentence; its tags are ignored. Raises UserError.
        """
        gold, predicted = [], []
        blocks = list(read_columns(path, boundary=SENTENCE_BOUNDARY))
        if blocks:
            check_gold(path, (cells[-2] for rows in blocks for _, cells in rows))
        for rows in blocks:
            for number, cells in rows:
                try:
                    split_tag(cells[-2]), split_tag(cells[-1])
                except ValueError as error:
                    raise UserError(f"{path}:{number}: {error} in the last two columns. Fix this line.") from None
            gold.append([cells[-2] for _, cells in rows])
            predicted.append([cells[-1] for _, cells in rows])
        if not gold:
            raise UserError(f"{path}: no tokens. Its last two columns must be the gold and the predicted tag")
        return scores_of(self, self.counts(gold, predicted))

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a type, like conlleval's."""
        overall = scores["overall"]
        head = (
            f"{overall['tokens']} tokens, {overall['gold']} chunks; found {overall['guessed']}, "
            f"{overall['correct']} of them correct; tag accuracy {overall['accuracy']:.2f} %"
        )
        columns = {"precision": "precision", "recall": "recall", "F1": "f1", "found": "guessed", "gold": "gold"}
        return f"{head}\n{figure_table({'overall': overall, **scores.get('by_type', {})}, columns)}"


def _pairs(gold: Tags, predicted: Tags) -> list[tuple[set, set]]:
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError("gold and predicted differ in the number of sentences or in a sentence's number of tags")
    return [(set(spans(g)), set(spans(p))) for g, p in zip(gold, predicted, strict=True)]


def _chunk_figures(sums: Sums) -> dict[str, Any]:
    counts = {name: sums[name] for name in ("correct", "guessed", "gold")}
    return shares(**counts) | counts
