"""Antecedent scores, and the loss over all correct antecedents (Lee et al. 2017)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.layers import FeedForward

ROWS = 16  # spans whose antecedents are scored at once
# Above so many pairs in a document, training computes blocks twice instead of keeping
# them in memory.
KEPT = 2**16
LAST = (0, 1, 2, 3, 4, 7, 15, 31, 63)  # the largest distance in each bucket but one
BUCKETS = len(LAST) + 1


def distance_buckets(distances: Tensor) -> Tensor:
    """The buckets, 0 to 9, of int64 distances from 0; same shape.

    They are 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, and 64 and more.
    """
    return torch.bucketize(distances, torch.tensor(LAST, device=distances.device))


def scorer(hidden: Sequence[int], dropout: float) -> nn.Sequential:
    """The rest of a feed-forward scorer after its first linear layer.

    [..., hidden[0]] -> [..., 1].
    """
    rest = FeedForward(hidden[0], hidden=hidden[1:], dropout=dropout)
    return nn.Sequential(nn.ReLU(), Dropout(dropout), rest, nn.Linear(rest.dim, 1))


class Antecedents(nn.Module):
    """Scores each span's `most` nearest predecessors.

    It does so in blocks of spans: memory grows with the spans, not the pairs. A pair's
    vector is [g_i; g_j; g_i ∘ g_j; features]. The scorer's first layer is split: its
    product with g_i is computed once for each span, and the products with g_j and
    g_i ∘ g_j are one product with a weight of span i.
    """

    def __init__(
        self,
        dim: int,
        *,
        most: int,
        genres: int,
        feature: int,
        hidden: Sequence[int],
        dropout: float,
    ):
        super().__init__()
        self.most = most
        self.same_speaker = nn.Embedding(2, feature)
        # 0: a genre not seen in training
        self.genre = nn.Embedding(1 + genres, feature, padding_idx=0)
        self.distance = nn.Embedding(BUCKETS, feature)
        for table in (self.same_speaker, self.genre, self.distance):
            nn.init.xavier_uniform_(table.weight)
        nn.init.zeros_(self.genre.weight[0])
        self.dropout = Dropout(dropout)
        self.sizes = (dim, dim, dim, 3 * feature)
        self.first = nn.Linear(sum(self.sizes), hidden[0])
        self.rest = scorer(hidden, dropout)

    def forward(
        self, vectors: Tensor, mentions: Tensor, speakers: Tensor, genre: Tensor
    ) -> Tensor:
        """Scores [M, 1 + K] of the dummy (0) and of the antecedents i-1, ..., i-K.

        They are -inf before the first span. vectors [M, D], mention scores [M] and
        speakers int64 [M] of the spans in order; genre int64 [].
        """
        count = len(vectors)
        most = min(self.most, count - 1)
        # Not a constant: the loss of a document of one span has a gradient, of zeros.
        dummy = mentions[:, None] * 0
        if not most:
            return dummy
        one, other, both, features = self.first.weight.split(self.sizes, dim=1)
        ours = functional.linear(vectors, one, self.first.bias)  # M(hidden)
        pairwise = self._pairwise(genre)
        # In front of the document, ROWS spans that no score is kept of.
        others = functional.pad(vectors, (0, 0, ROWS, 0))
        other_speakers = functional.pad(speakers, (ROWS, 0))

        def block(begin: int) -> Tensor:
            rows = slice(begin, min(begin + ROWS, count))
            number = rows.stop - begin
            reach = min(most, rows.stop - 1)  # the largest distance of an antecedent
            columns = slice(begin - reach + ROWS, begin + ROWS + number - 1)
            # g_j · (both ∘ g_i + other): the product of a pair, g_i ∘ g_j, is never
            # built.
            weight = torch.addcmul(other, both, vectors[rows, None])  # (rows)(hidden)D
            bias = ours[rows].flatten()
            x = torch.addmm(bias, others[columns], weight.flatten(0, 1).T)
            x = x.view(reach + number - 1, number, -1)
            x = _Band.apply(x)  # (rows)(reach)(hidden)
            before = other_speakers[columns].unfold(0, reach, 1)
            same = speakers[rows, None] == before  # (rows)(reach)
            distances = torch.arange(reach, 0, -1, device=same.device)
            numbers = same * BUCKETS + distance_buckets(distances)
            looked_up = self.dropout(functional.embedding(numbers, pairwise))
            x = x + functional.linear(looked_up, features)
            scores = self.rest(x).squeeze(2).flip(1)
            return functional.pad(scores, (0, most - reach))  # (rows)K

        begins = range(0, count, ROWS)
        if torch.is_grad_enabled() and count * most > KEPT:
            blocks = [checkpoint(block, begin, use_reentrant=False) for begin in begins]
        else:
            blocks = [block(begin) for begin in begins]
        back = antecedents(count, most, device=vectors.device)
        of_antecedents = mentions[back.clamp(min=0)]
        scores = torch.cat(blocks) + mentions[:, None] + of_antecedents  # MK
        return torch.cat([dummy, scores.masked_fill(back < 0, -torch.inf)], dim=1)

    def _pairwise(self, genre: Tensor) -> Tensor:
        """The features of a pair, by same speaker or not and bucket."""
        parts = [
            self.same_speaker.weight.repeat_interleave(BUCKETS, dim=0),
            self.genre(genre).expand(2 * BUCKETS, -1),
            self.distance.weight.repeat(2, 1),
        ]
        return torch.cat(parts, dim=1)


class _Band(torch.autograd.Function):
    """x [C, R, H] -> [R, C - R + 1, H]: of row r the columns from r on."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        return _band(x).contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        d_x = gradients[0].new_zeros(ctx.shape)
        _band(d_x).copy_(gradients[0])
        return d_x


def _band(x: Tensor) -> Tensor:
    columns, rows, size = x.shape
    shape = (rows, columns - rows + 1, size)
    strides = ((rows + 1) * size, rows * size, 1)
    return x.as_strided(shape, strides)


def antecedents(count: int, most: int, *, device: torch.device) -> Tensor:
    """The spans before each span, nearest first: int64 [count, most].

    Numbers below 0 are before the first span.
    """
    numbers = torch.arange(count, device=device)
    return numbers[:, None] - torch.arange(1, most + 1, device=device)


def marginal_loss(scores: Tensor, clusters: Tensor) -> Tensor:
    """-log of the total probability of correct antecedents, summed over the spans.

    scores [M, 1 + K] from `Antecedents`; clusters int64 [M], 0 for a span that is not a
    gold mention. The dummy is correct if no antecedent is.
    """
    count, most = len(scores), scores.shape[1] - 1
    back = antecedents(count, most, device=scores.device)  # MK
    same = clusters[back.clamp(min=0)] == clusters[:, None]
    right = same & (clusters[:, None] > 0) & (back >= 0)
    right = torch.cat([~right.any(dim=1, keepdim=True), right], dim=1)  # M(1+K)
    of_all = torch.logsumexp(scores, dim=1)
    of_right = torch.logsumexp(scores.masked_fill(~right, -torch.inf), dim=1)
    return (of_all - of_right).sum()


def clusters_of(scores: Tensor, starts: Tensor, ends: Tensor) -> list[list[list[int]]]:
    """Each span joins the cluster of its best antecedent, unless that is the dummy.

    scores [M, 1 + K]; first and last tokens [M] -> spans by cluster, clusters ordered
    by their first mention. A cluster has two spans or more.
    """
    spans = torch.stack([starts, ends], dim=1).tolist()
    cluster: dict[int, list[list[int]]] = {}
    links = []
    for number, distance in enumerate(scores.argmax(dim=1).tolist()):
        if distance:
            before = number - distance
            if before not in cluster:
                cluster[before] = [spans[before]]
                links.append(cluster[before])
            cluster[number] = cluster[before]
            cluster[number].append(spans[number])
    return sorted(links)
