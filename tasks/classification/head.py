"""SST-5's head, the BCN, over the labels of the training data."""

from collections.abc import Sequence
from typing import Any

import torch

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.tasks.classification.data import Text
from elmo_bench.tasks.sst5.head import Head as Bcn
from elmo_bench.text.batch import Indexer


class Head(Bcn):
    """`tasks/sst5/head.py`, whose labels are numbers, with names for them."""

    def __init__(self, embedder: Embedder, *, labels: Sequence[str], **numbers: Any):
        super().__init__(embedder, labels=len(labels), **numbers)
        self.names = list(labels)

    def collate(self, examples: Sequence[Text], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "labels": int64 [B]}."""
        number = {name: place for place, name in enumerate(self.names)}
        # A label not seen in training has no number; only dev and test have it, where no loss is computed.
        labels = torch.tensor([number.get(example.label or "", 0) for example in examples])
        return {"text": index([example.tokens for example in examples]), "labels": labels}

    def predict(self, batch: dict[str, Any]) -> list[str]:
        """The label of each text."""
        return [self.names[place] for place in super().predict(batch)]
