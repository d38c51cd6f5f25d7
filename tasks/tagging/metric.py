"""Entity precision, recall and F1 as in conlleval, or the accuracy of plain tags; imports no torch."""

from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import scores_of
from elmo_bench.base.sources import TABLES
from elmo_bench.tasks.ner.metric import SENTENCE_BOUNDARY, Tags
from elmo_bench.tasks.ner.metric import Metric as Chunks
from elmo_bench.text.columns import NO_GOLD, read_columns, tokens_of
from elmo_bench.text.own_data import GOLD, PREDICTED, with_gold
from elmo_bench.text.tables import Row, ending_of, read_table
from elmo_bench.text.tags import scheme_of, to_bio


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
                rows.append({GOLD: None if set(gold) == {NO_GOLD} else gold, PREDICTED: predicted})
        if not rows:
            raise UserError(f"{path}: no predictions. Each line must have a token, its gold and its predicted tag.")
        sides = [[_tags(row.get(side)) for row in with_gold(rows, path)] for side in (GOLD, PREDICTED)]
        if [*map(len, sides[0])] != [*map(len, sides[1])]:
            raise UserError(f"{path}: gold and predicted tags must be as many in each sentence.")
        scheme = scheme_of(sides[0]) if any({*tags} > {"O"} or "O" not in tags for tags in sides[0]) else None
        if scheme:  # both sides are in it, also in files of other programs
            try:
                sides = [[to_bio(tags, scheme) for tags in side] for side in sides]
            except ValueError as error:
                raise UserError(f"{path}: the gold tags are spans in {scheme}, but {error}. Fix it.") from None
        return scores_of(self, self.counts(*sides))


def _tags(cell: Any) -> list[str]:
    return tokens_of(cell) if isinstance(cell, str) else [*map(str, cell)] if isinstance(cell, list) else []


def _chunks(gold: Tags, predicted: Tags) -> tuple[Tags, Tags]:
    """Both in BIO."""
    if scheme_of([*gold, *predicted]) in ("BIO", "IOB1"):
        return gold, predicted
    return [[f"B-{tag}" for tag in tags] for tags in gold], [[f"B-{tag}" for tag in tags] for tags in predicted]
