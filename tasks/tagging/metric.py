"""Precision, recall and F1 of spans as in seqeval's strict mode.

Or the accuracy of plain tags. Imports no torch.
"""

from itertools import chain
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
from elmo_bench.text.own_checks import GOLD, PREDICTED, scored_rows
from elmo_bench.text.schemes import OUTSIDE, SINGLE, Notation, notation_of
from elmo_bench.text.tables import Row, ending_of, read_table


class Metric(Chunks):
    """`tasks/ner/metric.py`, also for plain tags.

    A plain tag is a chunk of one token, so that F1 is the accuracy of the tags.
    """

    def counts(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """As in `tasks/ner/metric.py`, with plain tags as types."""
        return super().counts(*_chunks(gold, predicted))

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file that `predict` wrote.

        Columns, of which the last two are gold and predicted tag, or a table. Raises
        UserError.
        """
        rows = read_table(path) if ending_of(path) in TABLES else _of_columns(path)
        if not rows:
            line = "a token, its gold and its predicted tag"
            raise UserError(f"{path}: no predictions. Each line must have {line}.")
        scored = scored_rows(rows, path)
        gold = [_tags(row.get(GOLD)) for row in scored]
        predicted = [_tags(row.get(PREDICTED)) for row in scored]
        if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
            what = "gold and predicted tags must be as many in each sentence"
            raise UserError(f"{path}: {what}. Predict the file again.")
        if all(tag in OUTSIDE for tag in chain(*gold, *predicted)):
            what = "no tag but O on either side, so there is nothing to score"
            raise UserError(f"{path}: {what}. Give data with spans.")
        try:
            chunks = _chunks(gold, predicted)
            notation = _notation(gold, predicted)
        except ValueError as error:
            raise UserError(f"{path}: {error}. Fix it.") from None
        if notation:
            note(f"tags: spans in {notation}", path)
        else:
            note("tags: plain; F1 is the accuracy of all tags, O too", path)
        return scores_of(self, super().counts(*chunks))


def _of_columns(path: Path) -> list[Row]:
    """The gold and the predicted tags of each sentence of a column file.

    Gold is None where all of it is NO_GOLD, unless that is a tag of the file.
    """
    rows: list[Row] = []
    for lines in read_columns(path, boundary=SENTENCE_BOUNDARY):
        gold = [cells[-2] for _, cells in lines]
        predicted = [cells[-1] for _, cells in lines]
        rows.append({GOLD: gold, PREDICTED: predicted})
    if not has_null_tag(row[GOLD] for row in rows):
        for row in rows:
            if set(row[GOLD]) == {NO_GOLD}:
                row[GOLD] = None
    return rows


def _tags(cell: Any) -> list[str]:
    if isinstance(cell, str):
        return tokens_of(cell)
    return [*map(str, cell)] if isinstance(cell, list) else []


def _chunks(gold: Tags, predicted: Tags) -> tuple[Tags, Tags]:
    """Both sides in BIO.

    Raises ValueError for predicted tags that are written otherwise than gold.
    """
    tags = {*chain(*gold, *predicted)}
    if all(tag.startswith(SINGLE) for tag in tags):
        return _in_bio(gold, SINGLE), _in_bio(predicted, SINGLE)
    notation = _notation(gold, predicted)
    if notation is None:
        return _in_bio(gold), _in_bio(predicted)
    try:
        return _to_bio(gold, notation), _to_bio(predicted, notation)
    except ValueError as error:
        raise ValueError(
            f"the gold tags are spans in {notation}, but {error}"
        ) from None


def _notation(gold: Tags, predicted: Tags) -> Notation | None:
    """How the gold tags are written, or the predicted ones if all gold is O.

    Raises ValueError.
    """
    has_spans = any(tag not in OUTSIDE for tag in chain.from_iterable(gold))
    return notation_of(gold if has_spans else predicted)


def _to_bio(side: Tags, notation: Notation) -> Tags:
    """Spans in BIO. Raises ValueError for a tag of another form."""
    return [notation.to_bio(sentence) for sentence in side]


def _in_bio(side: Tags, prefix: str = "") -> Tags:
    """Plain tags, which have a prefix, as spans of one token."""
    return [[f"B-{tag.removeprefix(prefix)}" for tag in sentence] for sentence in side]
