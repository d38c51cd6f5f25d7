"""Entity precision, recall and F1; imports no torch.

They are equal to the figures of conlleval (version 2004-01-26).
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Sums, scores_of
from elmo_bench.text.columns import check_gold, read_columns
from elmo_bench.text.figures import by_type, count_types, figure_table, percent, shares
from elmo_bench.text.tags import spans, split_tag

# The first cell of a line that conlleval takes for the end of a sentence.
SENTENCE_BOUNDARY = "-X-"
Tags = Sequence[Sequence[str]]  # one sequence of tags a sentence


class Metric:
    """Exact match of chunks (type, start, end), micro-averaged over types.

    Tags are IOB1, BIO or a mixture.
    """

    main = "f1"
    formula = "f1-counts"  # from correct, guessed and gold chunks
    summed = ("correct", "guessed", "gold")
    files = ("FILE",)

    def counts(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """By sentence, uint32: correct, guessed and gold chunks, also by type.

        Also tokens, and tokens with the same tag. Raises ValueError if gold and
        predicted differ in length or contain something that is not a tag.
        """
        pairs = _pairs(gold, predicted)
        chunks = {
            "correct": [g & p for g, p in pairs],
            "guessed": [p for _, p in pairs],
            "gold": [g for g, _ in pairs],
        }
        counts = {}
        kinds = {}
        for name, sets in chunks.items():
            counts[name] = np.array([*map(len, sets)], np.uint32)
            kinds[name] = [[kind for kind, _, _ in items] for items in sets]
        same = []
        for tags in zip(gold, predicted, strict=True):
            same.append(sum(g == p for g, p in zip(*tags, strict=True)))
        counts["same_tags"] = np.array(same, np.uint32)
        counts["tokens"] = np.array([*map(len, gold)], np.uint32)
        return counts | count_types(kinds)

    def figures(self, sums: Sums) -> dict[str, Any]:
        """precision, recall, f1, correct, guessed, gold; accuracy, tokens.

        All but the last two also of each type. Accuracy compares tags as written, as
        conlleval does.
        """
        tokens = sums["tokens"]
        accuracy = {"accuracy": percent(sums["same_tags"], tokens), "tokens": tokens}
        return _chunk_figures(sums) | accuracy | by_type(sums, _chunk_figures)

    def units(self, sums: Sums) -> Any:
        return sums["gold"]

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file whose last two columns are gold and predicted tag.

        A line that begins with the cell -X- only ends a sentence; its tags are ignored.
        Raises UserError.
        """
        blocks = list(read_columns(path, boundary=SENTENCE_BOUNDARY))
        rows = list(itertools.chain.from_iterable(blocks))
        if rows:
            check_gold(path, (cells[-2] for _, cells in rows))
        for number, cells in rows:
            try:
                split_tag(cells[-2])
                split_tag(cells[-1])
            except ValueError as error:
                where = f"{path}:{number}"
                raise UserError(
                    f"{where}: {error} in the last two columns. Fix this line."
                ) from None
        gold = [[cells[-2] for _, cells in block] for block in blocks]
        predicted = [[cells[-1] for _, cells in block] for block in blocks]
        if not gold:
            raise UserError(
                f"{path}: no tokens. Each line must have a token and, in its last "
                "two columns, its gold and its predicted tag."
            )
        return scores_of(self, self.counts(gold, predicted))

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a type, like conlleval's."""
        overall = scores["overall"]
        head = (
            f"{overall['tokens']} tokens, {overall['gold']} chunks; "
            f"found {overall['guessed']}, {overall['correct']} of them correct; "
            f"tag accuracy {overall['accuracy']:.2f} %"
        )
        columns = {
            "precision": "precision",
            "recall": "recall",
            "F1": "f1",
            "found": "guessed",
            "gold": "gold",
        }
        rows = {"overall": overall, **scores.get("by_type", {})}
        return f"{head}\n{figure_table(rows, columns)}"


def _pairs(gold: Tags, predicted: Tags) -> list[tuple[set, set]]:
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError(
            "gold and predicted differ in the number of sentences "
            "or in a sentence's number of tags"
        )
    pairs = zip(gold, predicted, strict=True)
    return [(set(spans(g)), set(spans(p))) for g, p in pairs]


def _chunk_figures(sums: Sums) -> dict[str, Any]:
    counts = {name: sums[name] for name in ("correct", "guessed", "gold")}
    return shares(**counts) | counts
