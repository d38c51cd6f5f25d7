"""Dropout from 16 random bits a feature, and variational dropout (Gal and Ghahramani 2016)."""

from collections.abc import Sequence
from ctypes import c_double, c_int, c_long, c_void_p
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.compiled import library

SOURCE = Path(__file__).with_suffix(".c")


def dropout(x: Tensor, rate: float) -> Tensor:
    """Zeros at `rate`, and elsewhere x / (the share that is kept).

    On a CPU the numbers come from torch's generator, 64 bits at once, six times faster than `torch.dropout` draws them.
    The rate is rounded to a multiple of 2⁻¹⁶; the factor belongs to the rounded rate, so x keeps its expected value.
    """
    if x.device.type != "cpu":
        return functional.dropout(x, rate)
    kept = min(max(round((1 - rate) * 2**16), 1), 2**16)  # of 65,536 values
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    return _Scaled.apply(x, bits[: x.numel()], kept - 1 - 2**15, 2**16 / kept)  # type: ignore[no-any-return]


def dropout_mask(shape: Sequence[int], rate: float, like: Tensor) -> Tensor:
    """The dropout of ones, with the type and device of `like`."""
    return dropout(like.new_ones(shape), rate)


class _Scaled(torch.autograd.Function):
    """x times `factor` where `bits`, in the order of x, are at most `last`, and times 0 elsewhere."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bits: Tensor, last: int, factor: float) -> Tensor:
        ctx.save_for_backward(bits)
        ctx.chosen = last, factor
        return _scaled(x, bits, last, factor)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, None, None, None]:
        [bits] = ctx.saved_tensors
        return _scaled(d_y, bits, *ctx.chosen), None, None, None


def _scaled(x: Tensor, bits: Tensor, last: int, factor: float) -> Tensor:
    compiled = library(SOURCE, x)
    if compiled is None:
        return x * (bits <= last).to(x.dtype).mul_(factor).view(x.shape)
    x = x.contiguous()
    y = torch.empty_like(x)
    pointers = [c_void_p(array.data_ptr()) for array in (bits, x, y)]
    compiled.scale(c_long(x.numel()), pointers[0], c_int(last), c_double(factor), *pointers[1:])
    return y


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
