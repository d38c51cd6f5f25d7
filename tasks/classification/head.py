"""SST-5's head, the BCN, over the labels of the training data."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import label_probabilities
from elmo_bench.tasks.sst5.head import Head as Bcn
from elmo_bench.text.batch import Indexer
from elmo_bench.text.labelled import label_numbers


class Head(Bcn):
    """`tasks/sst5/head.py`, whose labels are numbers, with names for them."""

    def __init__(self, embedder: Embedder, *, labels: Sequence[str], **numbers: Any):
        super().__init__(embedder, labels=len(labels), **numbers)
        self.names = list(labels)

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "labels": int64 [B]}."""
        texts = [*chain.from_iterable(example.texts for example in examples)]
        labels = torch.tensor(label_numbers(examples, self.names))
        return {"text": index(texts), "labels": labels}

    def predict(self, batch: dict[str, Any]) -> list[Any]:
        """The label of each text."""
        return [self.names[place] for place in super().predict(batch)]

    def probabilities(self, batch: dict[str, Any]) -> list[dict[str, float]]:
        """The probability of each label, for each text."""
        return label_probabilities(self(batch), self.names)
