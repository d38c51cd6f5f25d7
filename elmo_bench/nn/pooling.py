"""A sequence as one vector; padding is never read."""

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
    """The mean of the tokens weighted by a learned linear score of each: [B, T, D] -> [B, D]."""

    def __init__(self, dim: int):
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=False)  # the softmax would not see a bias

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask bool [B, T] (one token at least) -> [B, D]."""
        scores = self.score(x).squeeze(2).masked_fill(~mask, -torch.inf)  # BT
        return torch.einsum("bt,btd->bd", torch.softmax(scores, dim=1), x)
