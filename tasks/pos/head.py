"""A linear softmax on frozen vectors, which shows what a layer knows (Peters et al.
2018, section 5.3).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.layers import LinearProbe
from elmo_bench.text.batch import Indexer
from elmo_bench.text.token_labels import UNKNOWN

IGNORED = -100  # the number of a missing label


class Head(nn.Module):
    """Label scores of each word separately.

    There is no biRNN, so both places of ELMo are the input.
    """

    vectors = 1  # of the encoder, that the scores of a word are computed from

    def __init__(self, embedder: Embedder, *, labels: Sequence[str]):
        super().__init__()
        self.embedder = embedder
        self.labels = list(labels)
        dim = self.vectors * embedder.probe_dim
        self.probe = LinearProbe(dim, len(self.labels))

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "labels": int64 [N] of N words}."""
        number = {label: place for place, label in enumerate(self.labels)}
        labels: list[int] = []
        for example in examples:
            # A label not seen in training has no number. It occurs only in dev and
            # test, where no loss is computed.
            for label in example.gold:
                labels.append(IGNORED if label in UNKNOWN else number.get(label, 0))
        text = index([example.tokens for example in examples])
        return {"text": text, "labels": torch.tensor(labels)}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [N, K] of the words of all sentences."""
        text = batch["text"]
        x = self.embedder.for_probe(text)  # BTD
        return self.probe(x[text.mask])

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, mean over the words that have a label."""
        scores = self(batch).float()
        return functional.cross_entropy(scores, batch["labels"], ignore_index=IGNORED)

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """The labels of each sentence."""
        best = self(batch).argmax(dim=1).split(batch["text"].lengths.tolist())
        sentences = []
        for places in best:
            sentences.append([self.labels[place] for place in places.tolist()])
        return sentences
