"""Deep semantic role labelling: alternating highway LSTMs.

Source: He et al. (2017), as Peters et al. (2018) used them.

[words; ELMo; is this the predicate?] -> eight LSTM layers, alternately forward and
backward -> softmax over BIO tags -> the best sequence that is valid BIO.
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

# The tag of padding and of roles not seen in training, which add no loss.
IGNORED = -100


class Head(nn.Module):
    """Deep SRL.

    hidden: units of each LSTM layer; indicator: size of the predicate embedding.
    """

    starts: Tensor
    transitions: Tensor

    def __init__(
        self,
        embedder: Embedder,
        *,
        labels: Sequence[str],
        indicator: int,
        hidden: Sequence[int],
        dropout: float,
    ):
        super().__init__()
        self.embedder = embedder
        self.labels = list(labels)
        self.indicator = nn.Embedding(2, indicator)
        nn.init.xavier_uniform_(self.indicator.weight)  # as every embedding in AllenNLP
        self.encode = AlternatingLstm(embedder.dim + indicator, hidden, dropout=dropout)
        self.scores = nn.Linear(self.encode.dim + embedder.output_dim, len(self.labels))
        nn.init.orthogonal_(self.scores.weight)
        nn.init.zeros_(self.scores.bias)
        starts, transitions, _ = allowed_transitions(self.labels)
        for name, allowed in (("starts", starts), ("transitions", transitions)):
            self.register_buffer(name, torch.from_numpy(allowed), persistent=False)

    def collate(
        self, examples: Sequence[Proposition], index: Indexer
    ) -> dict[str, Any]:
        """Tensors of a batch.

        {"text": TextBatch, "predicate": int64 [B, T], 1 at the predicate, "tags": int64
        [B, T]}.
        """
        number = {label: place for place, label in enumerate(self.labels)}
        text = index([example.sentence.tokens for example in examples])
        predicate = torch.zeros(text.mask.shape, dtype=torch.int64)
        tags = torch.full(text.mask.shape, IGNORED)
        for row, example in enumerate(examples):
            predicate[row, example.predicate] = 1
            numbers = [number.get(tag, IGNORED) for tag in example.tags or ()]
            tags[row, : len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
        return {"text": text, "predicate": predicate, "tags": tags}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Tag scores [B, T, K]."""
        text = batch["text"]
        x = self.embedder(text)
        x = torch.cat([x, self.indicator(batch["predicate"])], dim=2)  # BT(dim)
        x = self.encode(x, text.mask)  # BTH
        # place=output, place=both
        x = torch.cat([x, self.embedder.output(text)], dim=2)
        return self.scores(x)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, averaged over the tokens of each sentence.

        Then over sentences (as in AllenNLP).
        """
        scores = self(batch).transpose(1, 2)  # BKT
        losses = functional.cross_entropy(
            scores, batch["tags"], ignore_index=IGNORED, reduction="none"
        )  # BT
        return (losses.sum(dim=1) / batch["text"].mask.sum(dim=1)).mean()

    def predict(self, batch: dict[str, Any]) -> list[list[str]]:
        """Valid BIO tags of each proposition."""
        # The softmax subtracts one number from all scores of a token, so raw scores
        # give the same best path.
        scores = self(batch).float()
        paths = best_paths(
            scores, batch["text"].mask, starts=self.starts, transitions=self.transitions
        )
        return [[self.labels[label] for label in path] for path in paths]


def best_paths(
    scores: Tensor, mask: Tensor, *, starts: Tensor, transitions: Tensor
) -> list[list[int]]:
    """The path with the highest sum of scores [B, T, K] in each row of mask [B, T].

    starts bool [K]: labels that may begin. transitions bool [K, K]: row, a label;
    column, a label that may follow it. At least one label must be allowed everywhere.
    Padding is never read.
    """
    forbidden = torch.zeros_like(transitions, dtype=scores.dtype)
    forbidden = forbidden.masked_fill(~transitions, -torch.inf)  # KK
    # The best score of a path that ends in each label.
    best = scores[:, 0].masked_fill(~starts, -torch.inf)  # BK
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
    lengths = mask.sum(dim=1).tolist()
    return [row[:length] for row, length in zip(labels, lengths, strict=True)]
