"""Entity precision, recall and F1 as in conlleval, or the accuracy of plain tags; imports no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.sources import TABLES
from elmo_bench.tasks.ner.metric import SENTENCE_BOUNDARY, Tags
from elmo_bench.tasks.ner.metric import Metric as Chunks
from elmo_bench.text.columns import read_columns
from elmo_bench.text.own_data import GOLD, NO_GOLD, PREDICTED
from elmo_bench.text.tables import ending_of, read_table
from elmo_bench.text.tags import scheme_of


class Metric(Chunks):
    """`tasks/ner/metric.py`. A plain tag is a chunk of one token, so that F1 is the accuracy of the tags."""

    def score(self, gold: Tags, predicted: Tags) -> dict[str, Any]:
        """As in `tasks/ner/metric.py`, with plain tags as types."""
        return super().score(*_chunks(gold, predicted))

    def outcomes(self, gold: Tags, predicted: Tags) -> dict[str, np.ndarray]:
        """As in `tasks/ner/metric.py`, with plain tags as types."""
        return super().outcomes(*_chunks(gold, predicted))

    def score_files(self, path: Path) -> dict[str, Any]:
        """The scores of a file that `predict` wrote: columns, the last two gold and predicted tag, or a table.

        Raises UserError.
        """
        if ending_of(path) in TABLES:
            rows = read_table(path)
            if lacking := [name for name in (GOLD, PREDICTED) if not isinstance(rows[0].get(name), list)]:
                raise UserError(f"{path}: no column {lacking[0]} with lists of tags. `predict` writes such a file.")
            gold, predicted = ([[*map(str, row[name])] for row in rows] for name in (GOLD, PREDICTED))
        else:
            sentences = [[cells for _, cells in rows] for rows in read_columns(path, boundary=SENTENCE_BOUNDARY)]
            if not sentences or len(sentences[0][0]) < 3:
                raise UserError(f"{path}: no predictions. Each line must have a token, its gold and its predicted tag.")
            gold, predicted = ([[cells[side] for cells in each] for each in sentences] for side in (-2, -1))
        if all(tag == NO_GOLD for tags in gold for tag in tags):
            raise UserError(f"{path}: no gold tags, so there is nothing to compare.")
        if [*map(len, gold)] != [*map(len, predicted)]:
            raise UserError(f"{path}: gold and predicted tags must be as many in each sentence.")
        return self.score(gold, predicted)


def _chunks(gold: Tags, predicted: Tags) -> tuple[Tags, Tags]:
    """Both in BIO."""
    if scheme_of(gold) is not None:
        return gold, predicted
    return [[f"B-{tag}" for tag in tags] for tags in gold], [[f"B-{tag}" for tag in tags] for tags in predicted]
