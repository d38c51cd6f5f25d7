"""Entity precision, recall and F1, equal to conlleval (version 2004-01-26); imports no torch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.text.columns import check_gold, read_columns
from elmo_bench.text.figures import F1_COUNTS, count_types, figure_table, percent, shares
from elmo_bench.text.tags import spans, split_tag

SENTENCE_BOUNDARY = "-X-"  # the first cell of a line that conlleval takes for the end of a sentence
Tags = Sequence[Sequence[str]]  # one sequence of tags a sentence


class Metric:
    """Exact match of chunks (type, start, end), micro-averaged over types; tags in IOB1, BIO or a mixture."""

    main = "f1"
    formula = F1_COUNTS
    files = ("FILE",)

    def score(self, gold: Tags, predicted: Tags) -> dict[str, Any]:
        """{"overall": {precision, recall, f1, accuracy, correct, guessed, gold, tokens}, "by_type": {type: ...}}.

        Percentages are unrounded, and 0 if the divisor is 0. Accuracy compares tags as written, as conlleval does.
        Raises ValueError if gold and predicted differ in length or contain something that is not a tag.
        """
        right: Counter[str] = Counter()
        guessed: Counter[str] = Counter()
        wanted: Counter[str] = Counter()
        for gold_spans, predicted_spans in _pairs(gold, predicted):
            right.update(kind for kind, *_ in gold_spans & predicted_spans)
            guessed.update(kind for kind, *_ in predicted_spans)
            wanted.update(kind for kind, *_ in gold_spans)
        tokens = sum(map(len, gold))
        same = sum(
            g == p for tags, others in zip(gold, predicted, strict=True) for g, p in zip(tags, others, strict=True)
        )
        overall = _figures(right.total(), guessed.total(), wanted.total())
        return {
            "overall": {**overall, "accuracy": percent(same, tokens), "tokens": tokens},
            "by_type": {kind: _figures(right[kind], guessed[kind], wanted[kind]) for kind in sorted(guessed | wanted)},
        }

    def outcomes(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """Counts of each sentence, for paired tests: correct, guessed and gold chunks, each uint32 [sentences].

        And counts by type, and for the accuracy of tags how many are the same, of how many.
        """
        pairs = _pairs(gold, predicted)
        chunks = {"correct": [g & p for g, p in pairs], "guessed": [p for _, p in pairs], "gold": [g for g, _ in pairs]}
        counts = {name: np.array([*map(len, items)], np.uint32) for name, items in chunks.items()}
        same = [sum(g == p for g, p in zip(*tags, strict=True)) for tags in zip(gold, predicted, strict=True)]
        counts |= {"same_tags": np.array(same, np.uint32), "tokens": np.array([*map(len, gold)], np.uint32)}
        return counts | count_types({n: [[kind for kind, *_ in own] for own in items] for n, items in chunks.items()})

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
        return self.score(gold, predicted)

    def table(self, scores: Mapping[str, Any]) -> str:
        """The scores as text, one row a type, like conlleval's."""
        overall = scores["overall"]
        head = (
            f"{overall['tokens']} tokens, {overall['gold']} chunks; found {overall['guessed']}, "
            f"{overall['correct']} of them correct; tag accuracy {overall['accuracy']:.2f} %"
        )
        columns = {"precision": "precision", "recall": "recall", "F1": "f1", "found": "guessed", "gold": "gold"}
        return f"{head}\n{figure_table({'overall': overall, **scores['by_type']}, columns)}"


def _pairs(gold: Tags, predicted: Tags) -> list[tuple[set, set]]:
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError("gold and predicted differ in the number of sentences or in a sentence's number of tags")
    return [(set(spans(g)), set(spans(p))) for g, p in zip(gold, predicted, strict=True)]


def _figures(correct: int, guessed: int, gold: int) -> dict[str, float]:
    return {**shares(correct, guessed, gold), "correct": correct, "guessed": guessed, "gold": gold}
