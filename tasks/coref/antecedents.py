"""Scores of antecedents, and the loss that sums over all right ones (Lee et al. 2017)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from elmo_bench.nn.buckets import BUCKETS, distance_buckets
from elmo_bench.nn.feed_forward import FeedForward

ROWS = 32  # spans whose antecedents are scored at once
KEPT = 2**16  # pairs of a document up to which training keeps what it computed; above, it computes blocks twice


def scorer(hidden: Sequence[int], dropout: float) -> nn.Sequential:
    """[..., hidden[0]] -> [..., 1]: what follows the first linear layer of a feed-forward scorer."""
    rest = FeedForward(hidden[0], hidden=hidden[1:], dropout=dropout)
    return nn.Sequential(nn.ReLU(), nn.Dropout(dropout), rest, nn.Linear(rest.dim, 1))


class Antecedents(nn.Module):
    """Scores each span's `most` nearest predecessors, in blocks of spans: memory grows with the spans, not the pairs.

    A pair's vector is [g_i; g_j; g_i ∘ g_j; features]. The scorer's first layer is taken apart: of a pair, only the
    product and the features are multiplied; what one span gives is computed once a span.
    """

    def __init__(self, dim: int, *, most: int, genres: int, feature: int, hidden: Sequence[int], dropout: float):
        super().__init__()
        self.most = most
        self.same_speaker = nn.Embedding(2, feature)
        self.genre = nn.Embedding(1 + genres, feature, padding_idx=0)  # 0: not seen in training, says nothing
        self.distance = nn.Embedding(BUCKETS, feature)
        for table in (self.same_speaker, self.genre, self.distance):
            nn.init.xavier_uniform_(table.weight)
        nn.init.zeros_(self.genre.weight[0])
        self.dropout = nn.Dropout(dropout)
        self.sizes = (dim, dim, dim, 3 * feature)
        self.first = nn.Linear(sum(self.sizes), hidden[0])
        self.rest = scorer(hidden, dropout)

    def forward(self, vectors: Tensor, mentions: Tensor, speakers: Tensor, genre: Tensor) -> Tensor:
        """Scores [M, 1 + K] of the dummy (0) and of the antecedents i-1, i-2, ..., i-K; -inf where there is none.

        vectors [M, D] and mention scores [M] of the spans in order, their speakers int64 [M], genre int64 [].
        """
        count = len(vectors)
        most = min(self.most, count - 1)
        one, other, both, features = self.first.weight.split(self.sizes, dim=1)
        ours = functional.linear(vectors, one, self.first.bias)  # M(hidden)
        theirs = functional.linear(vectors, other)  # M(hidden)
        numbers = torch.arange(count, device=vectors.device)

        def block(begin: int) -> Tensor:
            i, j = numbers[begin : begin + ROWS, None], numbers[max(0, begin - most) : begin + ROWS]
            rows, columns = slice(begin, begin + ROWS), slice(max(0, begin - most), begin + ROWS)
            found = torch.cat(
                [
                    self.same_speaker((speakers[rows, None] == speakers[columns]).long()),
                    self.genre(genre).expand(len(i), len(j), -1),
                    self.distance(distance_buckets((i - j).clamp(min=0))),
                ],
                dim=2,
            )
            x = functional.linear(vectors[rows, None] * vectors[columns], both)
            x = x + functional.linear(self.dropout(found), features) + ours[rows, None] + theirs[columns]
            pairs = self.rest(x).squeeze(2) + mentions[rows, None] + mentions[columns]  # (rows)(columns)
            back = i - torch.arange(1, most + 1, device=i.device)  # (rows)K: the antecedent at each distance
            band = pairs.gather(1, (back - columns.start).clamp(min=0))
            return band.masked_fill(back < 0, -torch.inf)

        recompute = torch.is_grad_enabled() and count * most > KEPT
        blocks = [
            checkpoint(block, begin, use_reentrant=False) if recompute else block(begin)
            for begin in range(0, count, ROWS)
        ]
        return torch.cat([mentions.new_zeros(count, 1), torch.cat(blocks)], dim=1)


def marginal_loss(scores: Tensor, clusters: Tensor) -> Tensor:
    """-log of the summed probability of the right antecedents of each span, summed over the spans.

    scores [M, 1 + K] as `Antecedents` gives them; clusters int64 [M], 0 for a span that is no gold mention. The dummy
    is right where no antecedent is.
    """
    count, most = len(scores), scores.shape[1] - 1
    numbers = torch.arange(count, device=scores.device)
    back = numbers[:, None] - torch.arange(1, most + 1, device=scores.device)  # MK
    right = (clusters[back.clamp(min=0)] == clusters[:, None]) & (clusters[:, None] > 0) & (back >= 0)
    right = torch.cat([~right.any(dim=1, keepdim=True), right], dim=1)  # M(1+K)
    return (torch.logsumexp(scores, dim=1) - torch.logsumexp(scores.masked_fill(~right, -torch.inf), dim=1)).sum()


def clusters_of(scores: Tensor, starts: Tensor, ends: Tensor) -> list[list[list[int]]]:
    """Each span joins the cluster of its best antecedent, unless that is the dummy; no cluster has one mention.

    scores [M, 1 + K]; first and last tokens [M] -> spans by cluster, clusters by their first mention.
    """
    spans = torch.stack([starts, ends], dim=1).tolist()
    cluster: dict[int, list[list[int]]] = {}
    found = []
    for number, distance in enumerate(scores.argmax(dim=1).tolist()):
        if distance:
            before = number - distance
            if before not in cluster:
                cluster[before] = [spans[before]]
                found.append(cluster[before])
            cluster[number] = cluster[before]
            cluster[number].append(spans[number])
    return sorted(found)
