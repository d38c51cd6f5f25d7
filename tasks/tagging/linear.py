"""One linear layer on the frozen vector of each token."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import LinearProbe
from elmo_bench.tasks.tagging.data import Sentence
from elmo_bench.tasks.tagging.names import (
    names_of,
    numbers_of,
    probabilities_of,
    tags_of,
)
from elmo_bench.text.batch import Indexer


class Head(nn.Module):
    """Logistic regression of each token's vector, without its neighbours' tags.

    What one would write in twenty lines.
    """

    def __init__(self, embedder: Embedder, *, labels: Sequence[str]):
        super().__init__()
        self.embedder = embedder
        self.names = names_of(labels)
        self.probe = LinearProbe(embedder.probe_dim, len(self.names))

    def collate(self, examples: Sequence[Sentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [N] of N tokens}."""
        tags: list[int] = []
        for example in examples:
            tags += numbers_of(example, self.names)
        return {
            "text": index([example.tokens for example in examples]),
            "tags": torch.tensor(tags),
        }

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [N, K] of the tokens of all sentences."""
        text = batch["text"]
        x = self.embedder.for_probe(text)  # BTD
        return self.probe(x[text.mask])

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, mean over the tokens."""
        return functional.cross_entropy(self(batch).float(), batch["tags"])

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """BIO tags of each sentence, or plain tags with SINGLE before them."""
        best = self(batch).argmax(dim=1).split(batch["text"].lengths.tolist())
        return [tags_of(sentence.tolist(), self.names) for sentence in best]

    def probabilities(self, batch: dict[str, Any]) -> list[list[dict[str, float]]]:
        """{tag: its probability} of each token of each sentence."""
        shares = self(batch).float().softmax(dim=1)
        sentences = shares.split(batch["text"].lengths.tolist())
        return [probabilities_of(sentence, self.names) for sentence in sentences]
