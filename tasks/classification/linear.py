"""One linear layer on the mean of a text's frozen vectors."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import LinearProbe, label_probabilities, mean_pool
from elmo_bench.text.batch import Indexer
from elmo_bench.text.labelled import label_numbers


class Head(nn.Module):
    """The vectors of all tokens, their mean, logistic regression.

    What one would write in twenty lines.
    """

    vectors = 1  # as wide as the embedder's, that the scores are computed from

    def __init__(self, embedder: Embedder, *, labels: Sequence[str]):
        super().__init__()
        self.embedder = embedder
        self.labels = list(labels)
        dim = self.vectors * embedder.probe_dim
        self.probe = LinearProbe(dim, len(self.labels))

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "labels": int64 [B]}.

        The first texts of all examples come before the second texts.
        """
        texts = []
        for side in range(len(examples[0].texts)):
            texts += [example.texts[side] for example in examples]
        labels = torch.tensor(label_numbers(examples, self.labels))
        return {"text": index(texts), "labels": labels}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Label scores [B, K]."""
        text = batch["text"]
        x = self.embedder.for_probe(text)  # BTD
        return self.probe(self.joined(mean_pool(x, text.mask)))

    def joined(self, means: Tensor) -> Tensor:
        """The vector of each example [B, D] from the mean of each text."""
        return means

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, averaged over the batch."""
        return functional.cross_entropy(self(batch).float(), batch["labels"])

    def predict(self, batch: dict[str, Any]) -> list[str]:
        """The label of each example."""
        return [self.labels[place] for place in self(batch).argmax(dim=1).tolist()]

    def probabilities(self, batch: dict[str, Any]) -> list[dict[str, float]]:
        """The probability of each label, for each example."""
        return label_probabilities(self(batch), self.labels)
