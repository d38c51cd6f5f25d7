"""Precision, recall and F1 of spans as in seqeval's strict mode, or the accuracy of plain tags; imports no torch."""

from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import scores_of
from elmo_bench.base.notes import note
from elmo_bench.base.sources import TABLES
from elmo_bench.tasks.ner.metric import SENTENCE_BOUNDARY, Tags
from elmo_bench.tasks.ner.metric import Metric as Chunks
from elmo_bench.text.columns import NO_GOLD, has_null_tag, read_columns, tokens_of
from elmo_bench.text.own_checks import GOLD, PREDICTED, with_gold
from elmo_bench.text.schemes import OUTSIDE, SINGLE, Notation, notation_of
from elmo_bench.text.tables import Row, ending_of, read_table


class Metric(Chunks):
    """`tasks/ner/metric.py`. A plain tag is a chunk of one token, so that F1 is the accuracy of the tags."""

    def counts(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """As in `tasks/ner/metric.py`, with plain tags as types."""
        return super().counts(*_chunks(gold, predicted))

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file that `predict` wrote: columns, the last two gold and predicted tag, or a table.

        Raises UserError.
        """
        rows: list[Row] = []
        if ending_of(path) in TABLES:
            rows = read_table(path)
        else:
            for lines in read_columns(path, boundary=SENTENCE_BOUNDARY):
                gold, predicted = ([cells[side] for _, cells in lines] for side in (-2, -1))
                rows.append({GOLD: gold, PREDICTED: predicted})
            if not has_null_tag(row[GOLD] for row in rows):
                rows = [row | {GOLD: None} if set(row[GOLD]) == {NO_GOLD} else row for row in rows]
        if not rows:
            raise UserError(f"{path}: no predictions. Each line must have a token, its gold and its predicted tag.")
        sides = [[_tags(row.get(side)) for row in with_gold(rows, path)] for side in (GOLD, PREDICTED)]
        if [*map(len, sides[0])] != [*map(len, sides[1])]:
            raise UserError(f"{path}: gold and predicted tags must be as many in each sentence.")
        if all(tag in OUTSIDE for side in sides for tags in side for tag in tags):
            raise UserError(f"{path}: no tag but O on either side, so there is nothing to score. Give data with spans.")
        try:
            chunks = _chunks(*sides)
            notation = _notation(*sides)
        except ValueError as error:
            raise UserError(f"{path}: {error}. Fix it.") from None
        note(f"tags: spans in {notation}" if notation else "tags: plain; F1 is the accuracy of all tags, O too", path)
        return scores_of(self, super().counts(*chunks))


def _tags(cell: Any) -> list[str]:
    return tokens_of(cell) if isinstance(cell, str) else [*map(str, cell)] if isinstance(cell, list) else []


def _chunks(gold: Tags, predicted: Tags) -> tuple[Tags, Tags]:
    """Both sides in BIO. Raises ValueError for predicted tags that are written otherwise than gold."""
    tags = {tag for side in (gold, predicted) for sentence in side for tag in sentence}
    if all(tag.startswith(SINGLE) for tag in tags):
        return _in_bio(gold, SINGLE), _in_bio(predicted, SINGLE)
    notation = _notation(gold, predicted)
    if notation is None:
        return _in_bio(gold), _in_bio(predicted)
    try:
        return [notation.to_bio(sentence) for sentence in gold], [notation.to_bio(sentence) for sentence in predicted]
    except ValueError as error:
        raise ValueError(f"the gold tags are spans in {notation}, but {error}") from None


def _notation(gold: Tags, predicted: Tags) -> Notation | None:
    """How the gold tags are written, or the predicted ones if all gold is O. Raises ValueError."""
    has_spans = any(tag not in OUTSIDE for sentence in gold for tag in sentence)
    return notation_of(gold if has_spans else predicted)


def _in_bio(side: Tags, prefix: str = "") -> Tags:
    """Plain tags, which have a prefix, as spans of one token."""
    return [[f"B-{tag.removeprefix(prefix)}" for tag in sentence] for sentence in side]
