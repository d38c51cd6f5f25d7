"""ESIM (Chen et al. 2017), the sequential model, as Peters et al. 2018 changed it.

[words; ELMo] -> biLSTM shared by both sentences, ELMo again -> soft alignment both ways
-> [a; ã; a - ã; a ∘ ã] -> a ReLU layer -> inference biLSTM -> mean and maximum of both
-> a ReLU layer -> three scores.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.dropout import Dropout, VariationalDropout
from elmo_bench.nn.layers import FeedForward, label_probabilities, max_pool, mean_pool
from elmo_bench.nn.recurrent import BiLstm
from elmo_bench.text.batch import Indexer, TextBatch
from elmo_bench.text.labelled import label_numbers


class Head(nn.Module):
    """ESIM. hidden: units per direction of the input and of the inference biLSTM.

    reduced: size of the ReLU layer between them; classifier: size of the ReLU layer on
    top. dropout: rates at the input of each biLSTM (`recurrent`, one mask for each
    sentence), on the aligned vectors (`aligned`), and before and after the classifier's
    layer (`classifier`). l2: factor of the sum of squares of all weight matrices, which
    is added to the loss.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        labels: Sequence[str],
        hidden: Sequence[int],
        reduced: int,
        classifier: int,
        dropout: dict[str, float],
        l2: float,
    ):
        super().__init__()
        self.embedder = embedder
        self.labels = list(labels)
        self.l2 = l2
        self.recurrent_dropout = VariationalDropout(dropout["recurrent"])
        self.encode = BiLstm(embedder.dim, hidden[0])
        dim = self.encode.dim + embedder.output_dim
        self.aligned_dropout = Dropout(dropout["aligned"])
        self.reduce = FeedForward(4 * dim, hidden=[reduced], dropout=0.0)
        self.infer = BiLstm(self.reduce.dim, hidden[1])
        self.pooled_dropout = Dropout(dropout["classifier"])
        self.classify = FeedForward(
            4 * self.infer.dim, hidden=[classifier], dropout=dropout["classifier"]
        )
        self.scores = nn.Linear(self.classify.dim, len(self.labels))
        for part in (self.encode, self.reduce, self.infer, self.classify, self.scores):
            initialise(part)

    def collate(self, examples: Sequence[Any], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"text": TextBatch, "labels": int64 [B]}.

        The 2B sentences of `text` are the premises, then the hypotheses.
        """
        premises = [example.texts[0] for example in examples]
        hypotheses = [example.texts[1] for example in examples]
        labels = torch.tensor(label_numbers(examples, self.labels))
        return {"text": index([*premises, *hypotheses]), "labels": labels}

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """Label scores [B, K].

        Both sentences are read together, so S = 2B: the premises, then the hypotheses.
        """
        text = batch["text"]
        mask = text.mask  # ST
        pairs = len(mask) // 2  # B
        x = self.to_align(text)  # STD
        aligned = align(x, x.roll(pairs, dims=0), mask.roll(pairs, dims=0))  # STD
        x = torch.cat([x, aligned, x - aligned, x * aligned], dim=2)  # ST(4D)
        x = self.aligned_dropout(x)
        x = self.infer(self.recurrent_dropout(self.reduce(x)), mask)  # ST(2H)
        pooled = torch.cat([mean_pool(x, mask), max_pool(x, mask)], dim=1)  # S(4H)
        pooled = torch.cat([pooled[:pairs], pooled[pairs:]], dim=1)  # B(8H)
        return self.scores(self.classify(self.pooled_dropout(pooled)))  # BK

    def to_align(self, text: TextBatch) -> Tensor:
        """The vectors that are aligned, [S, T, D].

        They are the biLSTM's output, with the encoder's vectors if these enter there
        (place).
        """
        x = self.recurrent_dropout(self.embedder(text))
        x = self.encode(x, text.mask)  # ST(2H)
        return torch.cat([x, self.embedder.output(text)], dim=2)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy, averaged over the batch, plus the weight penalty."""
        matrices = [
            p
            for name, p in self.named_parameters()
            if p.dim() == 2 and not name.startswith("embedder.")
        ]
        squares = sum(matrix.square().sum() for matrix in matrices)
        penalty = self.l2 * squares
        return functional.cross_entropy(self(batch), batch["labels"]) + penalty

    def predict(self, batch: dict[str, Any]) -> list[str]:
        """The label of each pair."""
        return [self.labels[row] for row in self(batch).argmax(dim=1).tolist()]

    def probabilities(self, batch: dict[str, Any]) -> list[dict[str, float]]:
        """The probability of each label, for each pair."""
        return label_probabilities(self(batch), self.labels)


def align(x: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    """Soft alignment, softmax(x otherᵀ) other.

    It is for each token the mean of the other sentence, weighted by dot products. x
    [S, T, D], other [S, U, D], mask bool [S, U] of the other's tokens -> [S, T, D].
    """
    # With a dimension for (one) attention head, torch works in blocks and never builds
    # [S, T, U].
    query, key = x[:, None], other[:, None]
    attended = functional.scaled_dot_product_attention(
        query, key, key, attn_mask=mask[:, None, None], scale=1.0
    )
    return attended[:, 0]


def initialise(part: nn.Module) -> None:
    """Start as in AllenNLP's ESIM.

    Xavier uniform, orthogonal for recurrent weights; forget gates with bias 1.
    """
    for name, p in part.named_parameters():
        if p.dim() != 2:
            nn.init.zeros_(p)
        elif "weight_hh" in name:
            nn.init.orthogonal_(p)
        else:
            nn.init.xavier_uniform_(p)
        if "bias_hh" in name:
            quarter = len(p) // 4  # the gates are input, forget, candidate, output
            nn.init.ones_(p[quarter : 2 * quarter])
