"""Small layers: feed-forward, the linear softmax of the probes, and pooling.

Padding is never read.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.dropout import Dropout


class FeedForward(nn.Sequential):
    """A linear layer, ReLU and dropout for each width in `hidden`.

    [..., dim] -> [..., hidden[-1]]
    """

    def __init__(self, dim: int, *, hidden: Sequence[int], dropout: float):
        sizes = [dim, *hidden]
        layers: list[nn.Module] = []
        for size, width in pairwise(sizes):
            layers += [nn.Linear(size, width), nn.ReLU(), Dropout(dropout)]
        super().__init__(*layers)
        self.dim = sizes[-1]


class LinearProbe(nn.Module):
    """Scores that are linear in a frozen vector, whatever its scale.

    Each number of a vector is first normalised to mean 0 and variance 1, by the batch
    in training, by running averages in evaluation. The scores stay linear in the
    vector. Otherwise a layer of small numbers learns slowly (ELMo's shape with random
    weights gives numbers some 30 times smaller than elmo-mini's), and a limit of epochs
    would judge scale.

    Source: the linear probes of He et al. (2022), Masked autoencoders are scalable
    vision learners, appendix A.1.
    """

    def __init__(self, dim: int, classes: int):
        super().__init__()
        self.standardise = nn.BatchNorm1d(dim, eps=1e-8, affine=False)
        self.scores = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Scores [N, classes] of vectors [N, dim]."""
        norm = self.standardise
        if self.training and len(x) == 1:  # one word has no variance
            x = functional.batch_norm(
                x, norm.running_mean, norm.running_var, eps=norm.eps
            )
        else:
            x = norm(x)
        return self.scores(x)


def max_pool(x: Tensor, mask: Tensor) -> Tensor:
    """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
    return x.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)


def min_pool(x: Tensor, mask: Tensor) -> Tensor:
    """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
    return x.masked_fill(~mask[:, :, None], torch.inf).amin(dim=1)


def mean_pool(x: Tensor, mask: Tensor) -> Tensor:
    """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
    total = x.masked_fill(~mask[:, :, None], 0).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True)


class AttentivePool(nn.Module):
    """Self-attentive pooling: [B, T, D] -> [B, D].

    The mean of the tokens, weighted by a learned linear score.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=False)  # the softmax would cancel a bias

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
        scores = self.score(x).squeeze(2)  # BT
        scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=1)
        return torch.einsum("bt,btd->bd", weights, x)


def label_probabilities(
    scores: Tensor, labels: Sequence[str]
) -> list[dict[str, float]]:
    """{label: its probability} of each row of scores [B, K], by softmax."""
    rows = scores.float().softmax(dim=1).tolist()
    return [dict(zip(labels, row, strict=True)) for row in rows]
