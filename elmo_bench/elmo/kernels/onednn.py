"""Products of many vectors with one frozen matrix, which oneDNN packs once for this CPU (torch's private operators)."""

from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

ROWS_HINT = 64  # for the packing; any number of rows works


def available() -> bool:
    """Whether this build of torch has the operators."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


class Product(Protocol):
    """x [M, in] -> x @ weight + bias + plus, float32 [M, out]; `plus` is None or [M, out]."""

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor: ...


class Packed:
    """A `Product` in `dtype`: float32 or bfloat16."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype):
        self.weight, self.bias, self.dtype = weight, None if bias is None else bias.to(dtype), dtype

    @cached_property
    def _matrix(self) -> Tensor:
        return torch.ops.mkldnn._reorder_linear_weight(self.weight.T.to(self.dtype).contiguous(), ROWS_HINT)

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        linear = torch.ops.mkldnn._linear_pointwise
        if plus is not None and self.dtype == torch.float32:
            return linear.binary(x, plus, self._matrix, self.bias, "add")
        y = linear(x.to(self.dtype), self._matrix, self.bias, "none", [], "").float()
        return y if plus is None else y.add_(plus)


class Quantised:
    """A `Product` in 8 bits: one scale for each column of the matrix, and one for each row of x.

    The scale of a row is computed from that row, so its result does not depend on the others.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None):
        self.weight, self.bias = weight, bias

    @cached_property
    def _matrix(self) -> tuple[Tensor, Tensor, Tensor]:
        scales = (self.weight.abs().amax(dim=0) / 127).clamp(min=1e-12)
        whole = (self.weight / scales).round().to(torch.int8).T.contiguous()
        packed = torch.ops.onednn.qlinear_prepack(whole, [ROWS_HINT, len(self.weight)])
        return packed, scales, torch.zeros(len(scales), dtype=torch.int32)

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        matrix, scales, zeros = self._matrix
        largest = (x.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-12)  # M1
        whole = (x / largest).round_().add_(128).to(torch.uint8)  # oneDNN's kernel for signed inputs is slow
        y = torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, 128, matrix, scales, zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        if plus is not None:
            return torch.addcmul(plus if self.bias is None else plus + self.bias, y, largest)
        return y.mul_(largest) if self.bias is None else torch.addcmul(self.bias, y, largest)


def product(weight: Tensor, bias: Tensor | None, precision: str) -> Product:
    """The product with a weight [in, out]; the weight is packed when it is first used."""
    if precision == "int8":
        return Quantised(weight, bias)
    return Packed(weight, bias, getattr(torch, precision))
