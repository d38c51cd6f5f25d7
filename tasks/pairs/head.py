"""SNLI's head, ESIM, over the labels of the training data."""

from collections.abc import Sequence
from typing import Any

import torch

from elmo_bench.tasks.snli.head import Head as Esim
from elmo_bench.text.batch import Indexer
from elmo_bench.text.own_data import places


class Head(Esim):
    """`tasks/snli/head.py`, for any labels."""

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch of 2B texts, premises first, "labels": int64 [B]}."""
        texts = [example.texts[side] for side in (0, 1) for example in examples]
        return {"text": index(texts), "labels": torch.tensor(places(examples, self.labels))}
