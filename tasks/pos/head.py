"""A linear softmax on frozen vectors, which shows what a layer knows (Peters et al. 2018, section 5.3)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.text.batch import Indexer
from elmo_bench.text.sentence import TaggedSentence

IGNORED = -100  # the tag of padding


class Head(nn.Module):
    """Tag scores of each word separately. There is no biRNN, so both places of ELMo are the input."""

    def __init__(self, embedder: Embedder, *, labels: Sequence[str]):
        super().__init__()
        self.embedder, self.labels = embedder, list(labels)
        self.scores = nn.Linear(embedder.dim + embedder.output_dim, len(self.labels))

    def collate(self, examples: Sequence[TaggedSentence], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "tags": int64 [B, T]}."""
        number = {label: place for place, label in enumerate(self.labels)}
        # A tag not seen in training has no label; only dev and test have it, where no loss is computed.
        tags = [torch.tensor([number.get(tag, 0) for tag in example.tags]) for example in examples]
        padded = nn.utils.rnn.pad_sequence(tags, batch_first=True, padding_value=IGNORED)
        return {"text": index([example.tokens for example in examples]), "tags": padded}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [B, T, K]."""
        text = batch["text"]
        return self.scores(torch.cat([self.embedder(text), self.embedder.output(text)], dim=2))

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, mean over the words."""
        return functional.cross_entropy(
            self(batch).float().flatten(0, 1), batch["tags"].flatten(), ignore_index=IGNORED
        )

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """The tags of each sentence."""
        best = self(batch).argmax(dim=2).tolist()
        lengths = batch["text"].lengths.tolist()
        return [[self.labels[place] for place in row[:length]] for row, length in zip(best, lengths, strict=True)]
