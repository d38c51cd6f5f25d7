"""Pools a sequence into one vector; padding is never read."""

import torch
from torch import Tensor, nn


def max_pool(x: Tensor, mask: Tensor) -> Tensor:
    """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
    return x.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)


def min_pool(x: Tensor, mask: Tensor) -> Tensor:
    """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
    return x.masked_fill(~mask[:, :, None], torch.inf).amin(dim=1)


def mean_pool(x: Tensor, mask: Tensor) -> Tensor:
    """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
    return x.masked_fill(~mask[:, :, None], 0).sum(dim=1) / mask.sum(dim=1, keepdim=True)


class AttentivePool(nn.Module):
    """Self-attentive pooling: the mean of the tokens, weighted by a learned linear score: [B, T, D] -> [B, D]."""

    def __init__(self, dim: int):
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=False)  # the softmax would cancel a bias

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
        scores = self.score(x).squeeze(2).masked_fill(~mask, -torch.inf)  # BT
        return torch.einsum("bt,btd->bd", torch.softmax(scores, dim=1), x)
