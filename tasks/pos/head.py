"""A linear softmax on frozen vectors, which shows what a layer knows (Peters et al. 2018, section 5.3)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import LinearProbe
from elmo_bench.text.batch import Indexer
from elmo_bench.text.tags import TaggedSentence


class Head(nn.Module):
    """Tag scores of each word separately. There is no biRNN, so both places of ELMo are the input."""

    def __init__(self, embedder: Embedder, *, labels: Sequence[str]):
        super().__init__()
        self.embedder, self.labels = embedder, list(labels)
        self.probe = LinearProbe(embedder.dim + embedder.output_dim, len(self.labels))

    def collate(self, examples: Sequence[TaggedSentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [N] of its N words}."""
        number = {label: place for place, label in enumerate(self.labels)}
        # A tag not seen in training has no label; only dev and test have it, where no loss is computed.
        tags = torch.tensor([number.get(tag, 0) for example in examples for tag in example.tags])
        return {"text": index([example.tokens for example in examples]), "tags": tags}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [N, K] of the words of all sentences."""
        text = batch["text"]
        x = torch.cat([self.embedder(text), self.embedder.output(text)], dim=2)  # BTD
        return self.probe(x[text.mask])

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, mean over the words."""
        return functional.cross_entropy(self(batch).float(), batch["tags"])

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """The tags of each sentence."""
        best = self(batch).argmax(dim=1).split(batch["text"].lengths.tolist())
        return [[self.labels[place] for place in sentence.tolist()] for sentence in best]
