"""Biattentive classification network.

Source: McCann et al. (2017), with the changes in the appendix of Peters et al. (2018).

[words; ELMo] -> feed-forward -> biLSTM -> biattention of the sequence with itself ->
integrating biLSTM, ELMo again -> max, min, mean and self-attentive pooling -> two ReLU
layers -> five scores.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.dropout import Dropout, VariationalDropout
from elmo_bench.nn.layers import (
    AttentivePool,
    FeedForward,
    max_pool,
    mean_pool,
    min_pool,
)
from elmo_bench.nn.recurrent import BiLstm
from elmo_bench.tasks.sst5.data import Phrase
from elmo_bench.text.batch import Indexer

SCORES_AT_ONCE = 2**24  # products of two tokens in memory without gradients: 64 MiB


class Head(nn.Module):
    """BCN. hidden: units per direction of the first and of the integrating biLSTM.

    reduced: size of the feed-forward layer below them; classifier: sizes of the ReLU
    layers above. dropout: rates after the embedder (`input`), in the feed-forward layer
    (`reduced`), on the second ELMo (`output`), on the pooled vector (`pooled`) and in
    the classifier (`classifier`). `output` has one mask for each sequence: with one for
    each token, maxima and minima would be larger in training than in evaluation.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        labels: int,
        reduced: int,
        hidden: Sequence[int],
        classifier: Sequence[int],
        dropout: dict[str, float],
    ):
        super().__init__()
        self.embedder = embedder
        self.input_dropout = Dropout(dropout["input"])
        self.pooled_dropout = Dropout(dropout["pooled"])
        self.output_dropout = VariationalDropout(dropout["output"])
        self.reduce = FeedForward(
            embedder.dim, hidden=[reduced], dropout=dropout["reduced"]
        )
        self.encode = BiLstm(self.reduce.dim, hidden[0])
        self.integrate = BiLstm(3 * self.encode.dim, hidden[1])
        dim = self.integrate.dim + embedder.output_dim
        self.attentive_pool = AttentivePool(dim)
        self.classify = FeedForward(
            4 * dim, hidden=classifier, dropout=dropout["classifier"]
        )
        self.scores = nn.Linear(self.classify.dim, labels)

    def collate(self, examples: Sequence[Phrase], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "labels": int64 [B]}."""
        text = index([example.tokens for example in examples])
        # Unknown labels are only predicted.
        labels = torch.tensor([example.label or 0 for example in examples])
        return {"text": text, "labels": labels}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Label scores [B, K]."""
        text = batch["text"]
        mask = text.mask  # BT
        x = self.reduce(self.input_dropout(self.embedder(text)))  # BT(reduced)
        x = self.encode(x, mask)  # BT(2H)
        context = attend(x, mask)  # BT(2H)
        x = torch.cat([x, x - context, x * context], dim=2)  # BT(6H)
        x = self.integrate(x, mask)  # BT(2H)
        # place=output, place=both
        output = self.output_dropout(self.embedder.output(text))
        x = torch.cat([x, output], dim=2)  # BT(dim)
        parts = [
            max_pool(x, mask),
            min_pool(x, mask),
            mean_pool(x, mask),
            self.attentive_pool(x, mask),
        ]
        pooled = self.pooled_dropout(torch.cat(parts, dim=1))  # B(4dim)
        return self.scores(self.classify(pooled))  # BK

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, averaged over the batch."""
        return functional.cross_entropy(self(batch), batch["labels"])

    def predict(self, batch: dict[str, Any]) -> list[int]:
        """The label of each phrase."""
        return self(batch).argmax(dim=1).tolist()


def attend(x: Tensor, mask: Tensor) -> Tensor:
    """Biattention of a sequence with itself, softmax(X Xᵀ) X, without padding.

    x [B, T, D], mask bool [B, T] -> [B, T, D]. Without gradients, rows are computed in
    blocks: memory grows with T, not with T².
    """
    size = x.shape[1]
    if not torch.is_grad_enabled():
        size = max(1, SCORES_AT_ONCE // mask.numel())
    attended = []
    for rows in x.split(size, dim=1):
        block = functional.scaled_dot_product_attention(
            rows, x, x, attn_mask=mask[:, None], scale=1.0
        )
        attended.append(block)
    return torch.cat(attended, dim=1)
