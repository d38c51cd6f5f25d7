"""Deep semantic role labelling: alternating highway LSTMs (He et al. 2017, as Peters et al. 2018 used them).

[words; ELMo; is this the predicate?] -> eight LSTM layers, alternately forward and backward -> softmax over BIO tags ->
the best sequence that is valid BIO.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.tasks.srl.columns import Proposition
from elmo_bench.tasks.srl.highway_lstm import AlternatingLstm
from elmo_bench.text.batch import Indexer
from elmo_bench.text.tags import allowed_transitions

IGNORED = -100  # the tag of padding and of roles not seen in training, which add no loss


class Head(nn.Module):
    """Deep SRL: an LSTM layer for each number in `hidden` (units); `indicator`: size of the predicate embedding."""

    starts: Tensor
    transitions: Tensor

    def __init__(
        self, embedder: Embedder, *, labels: Sequence[str], indicator: int, hidden: Sequence[int], dropout: float
    ):
        super().__init__()
        self.embedder, self.labels = embedder, list(labels)
        self.indicator = nn.Embedding(2, indicator)
        nn.init.xavier_uniform_(self.indicator.weight)  # as every embedding in AllenNLP
        self.encode = AlternatingLstm(embedder.dim + indicator, hidden, dropout=dropout)
        self.scores = nn.Linear(self.encode.dim + embedder.output_dim, len(self.labels))
        nn.init.orthogonal_(self.scores.weight)
        nn.init.zeros_(self.scores.bias)
        starts, transitions, _ = allowed_transitions(self.labels)
        self.register_buffer("starts", torch.from_numpy(starts), persistent=False)
        self.register_buffer("transitions", torch.from_numpy(transitions), persistent=False)

    def collate(self, examples: Sequence[Proposition], index: Indexer) -> dict[str, Any]:
        """{"text": TextBatch, "predicate": int64 [B, T], 1 at the predicate, "tags": int64 [B, T]}."""
        number = {label: place for place, label in enumerate(self.labels)}
        text = index([example.sentence.tokens for example in examples])
        predicate, tags = torch.zeros(text.mask.shape, dtype=torch.int64), torch.full(text.mask.shape, IGNORED)
        for row, example in enumerate(examples):
            predicate[row, example.predicate] = 1
            known = [number.get(tag, IGNORED) for tag in example.tags or ()]
            tags[row, : len(known)] = torch.tensor(known, dtype=torch.int64)
        return {"text": text, "predicate": predicate, "tags": tags}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [B, T, K]."""
        text = batch["text"]
        x = torch.cat([self.embedder(text), self.indicator(batch["predicate"])], dim=2)  # BT(dim)
        x = self.encode(x, text.mask)  # BTH
        return self.scores(torch.cat([x, self.embedder.output(text)], dim=2))  # BTK; ELMo: place=output, place=both

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, averaged over the tokens of each sentence and then over sentences (as in AllenNLP)."""
        losses = functional.cross_entropy(
            self(batch).transpose(1, 2), batch["tags"], ignore_index=IGNORED, reduction="none"
        )  # BT
        return (losses.sum(dim=1) / batch["text"].mask.sum(dim=1)).mean()

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """Valid BIO tags of each proposition."""
        # The softmax subtracts one number from all scores of a token, so raw scores give the same best path.
        scores = self(batch).float()
        paths = best_paths(scores, batch["text"].mask, starts=self.starts, transitions=self.transitions)
        return [[self.labels[label] for label in path] for path in paths]


def best_paths(scores: Tensor, mask: Tensor, *, starts: Tensor, transitions: Tensor) -> list[list[int]]:
    """The path with the highest sum of scores [B, T, K] in each row of mask [B, T].

    starts bool [K]: labels that may begin. transitions bool [K, K]: row, a label; column, a label that may follow it.
    At least one label must be allowed everywhere. Padding is never read.
    """
    forbidden = torch.zeros_like(transitions, dtype=scores.dtype).masked_fill(~transitions, -torch.inf)  # KK
    best = scores[:, 0].masked_fill(~starts, -torch.inf)  # BK: the best score of a path that ends in each label
    stay = torch.arange(scores.shape[2], device=scores.device).expand_as(best)  # BK
    pointers = []
    for t in range(1, scores.shape[1]):
        longer, before = (best[:, :, None] + forbidden).max(dim=1)  # BK, BK
        inside = mask[:, t, None]
        best = torch.where(inside, longer + scores[:, t], best)
        pointers.append(torch.where(inside, before, stay))
    path = [best.argmax(dim=1, keepdim=True)]  # B1
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1]))
    labels = torch.cat(path[::-1], dim=1).tolist()
    return [row[:length] for row, length in zip(labels, mask.sum(dim=1).tolist(), strict=True)]
