"""Antecedent scores, and the loss that sums over all correct antecedents (Lee et al. 2017)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.feed_forward import FeedForward

ROWS = 32  # spans whose antecedents are scored at once
KEPT = 2**16  # above so many pairs in a document, training computes blocks twice instead of keeping them in memory
LAST = (0, 1, 2, 3, 4, 7, 15, 31, 63)  # the largest distance in each bucket but the last
BUCKETS = len(LAST) + 1


def distance_buckets(distances: Tensor) -> Tensor:
    """int64 distances from 0 to buckets 0 to 9: 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64 and more; same shape."""
    return torch.bucketize(distances, torch.tensor(LAST, device=distances.device))


def scorer(hidden: Sequence[int], dropout: float) -> nn.Sequential:
    """The rest of a feed-forward scorer after its first linear layer: [..., hidden[0]] -> [..., 1]."""
    rest = FeedForward(hidden[0], hidden=hidden[1:], dropout=dropout)
    return nn.Sequential(nn.ReLU(), Dropout(dropout), rest, nn.Linear(rest.dim, 1))


class Antecedents(nn.Module):
    """Scores each span's `most` nearest predecessors in blocks of spans, so that memory grows with spans, not pairs.

    A pair's vector is [g_i; g_j; g_i ∘ g_j; features]. The scorer's first layer is split: its product with g is
    computed once for each span, and only the product and the features are computed for each pair.
    """

    def __init__(self, dim: int, *, most: int, genres: int, feature: int, hidden: Sequence[int], dropout: float):
        super().__init__()
        self.most = most
        self.same_speaker = nn.Embedding(2, feature)
        self.genre = nn.Embedding(1 + genres, feature, padding_idx=0)  # 0: a genre not seen in training
        self.distance = nn.Embedding(BUCKETS, feature)
        for table in (self.same_speaker, self.genre, self.distance):
            nn.init.xavier_uniform_(table.weight)
        nn.init.zeros_(self.genre.weight[0])
        self.dropout = Dropout(dropout)
        self.sizes = (dim, dim, dim, 3 * feature)
        self.first = nn.Linear(sum(self.sizes), hidden[0])
        self.rest = scorer(hidden, dropout)

    def forward(self, vectors: Tensor, mentions: Tensor, speakers: Tensor, genre: Tensor) -> Tensor:
        """Scores [M, 1 + K] of the dummy (0) and of the antecedents i-1, i-2, ..., i-K; -inf before the first span.

        vectors [M, D], mention scores [M] and speakers int64 [M] of the spans in order; genre int64 [].
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
    """-log of the total probability of each span's correct antecedents, summed over the spans.

    scores [M, 1 + K] from `Antecedents`; clusters int64 [M], 0 for a span that is not a gold mention. The dummy is
    correct if no antecedent is.
    """
    count, most = len(scores), scores.shape[1] - 1
    numbers = torch.arange(count, device=scores.device)
    back = numbers[:, None] - torch.arange(1, most + 1, device=scores.device)  # MK
    right = (clusters[back.clamp(min=0)] == clusters[:, None]) & (clusters[:, None] > 0) & (back >= 0)
    right = torch.cat([~right.any(dim=1, keepdim=True), right], dim=1)  # M(1+K)
    return (torch.logsumexp(scores, dim=1) - torch.logsumexp(scores.masked_fill(~right, -torch.inf), dim=1)).sum()


def clusters_of(scores: Tensor, starts: Tensor, ends: Tensor) -> list[list[list[int]]]:
    """Each span joins the cluster of its best antecedent, unless that is the dummy. A cluster has two spans or more.

    scores [M, 1 + K]; first and last tokens [M] -> spans by cluster, clusters ordered by their first mention.
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
