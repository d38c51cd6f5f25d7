"""LSTM layers with highway connections whose directions alternate (He et al. 2017).

    i, f, o, r = σ(W x + U h + b)    g = tanh(W x + U h + b)    c = f ∘ c' + i ∘ g
    h = r ∘ o ∘ tanh(c) + (1 - r) ∘ V x

The backward pass is written by hand: autograd would compute the gradient of U at every step; here it is one product
over all steps, and so are all products with the input.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

BLOCKS = 5  # gates, in the order i, f, g, o, r; the input weights have V as a sixth block


class HighwayLstm(nn.Module):
    """One layer in one direction that never reads padding: [T, B, D] -> [T, B, H].

    Variational dropout applies to the new h, before the next step and the next layer read it (He et al. 2017).
    """

    def __init__(self, dim: int, hidden: int, *, backwards: bool, dropout: float):
        super().__init__()
        self.backwards, self.dropout = backwards, dropout
        self.input_weight = nn.Parameter(torch.empty((BLOCKS + 1) * hidden, dim))
        self.weight = nn.Parameter(torch.empty(BLOCKS * hidden, hidden))
        self.bias = nn.Parameter(torch.zeros(BLOCKS * hidden))
        for block in (*self.input_weight.data.split(hidden), *self.weight.data.split(hidden)):
            nn.init.orthogonal_(block)
        self.bias.data[hidden : 2 * hidden] = 1  # f

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [T, B, D], mask bool [T, B]; padded positions come out as zeros."""
        keep = None
        if self.training and self.dropout:
            keep = functional.dropout(self.weight.new_ones(x.shape[1], self.weight.shape[1]), self.dropout)  # BH
        with torch.autocast(x.device.type, enabled=False):
            x = x.to(self.weight.dtype)
            return _Recurrence.apply(x, mask, self.input_weight, self.weight, self.bias, keep, self.backwards)


class AlternatingLstm(nn.Module):
    """A layer for each size in `hidden`, alternately forward and backward: [B, T, D] -> [B, T, hidden[-1]]."""

    def __init__(self, dim: int, hidden: Sequence[int], *, dropout: float):
        super().__init__()
        sizes = [dim, *hidden]
        self.layers = nn.ModuleList(
            HighwayLstm(sizes[layer], units, backwards=layer % 2 == 1, dropout=dropout)
            for layer, units in enumerate(hidden)
        )
        self.dim = sizes[-1]

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask bool [B, T]; padded positions come out as zeros."""
        x, mask = x.transpose(0, 1).contiguous(), mask.T.contiguous()
        for layer in self.layers:
            x = layer(x, mask)
        return x.transpose(0, 1)


class _Recurrence(torch.autograd.Function):
    """x TBD, mask TB, input weight (6H)D, weight (5H)H, bias 5H, dropout mask BH or None -> h TBH."""

    @staticmethod
    def forward(ctx: Any, x, mask, input_weight, weight, bias, keep, backwards):  # noqa: PLR0917
        (steps, rows, _), hidden = x.shape, weight.shape[1]
        double = x.new_ones(BLOCKS, hidden)
        double[2] = 2  # tanh(z) = 2 σ(2z) - 1, so that one σ serves all gates
        double = double.flatten()
        gates = functional.linear(x, input_weight[: BLOCKS * hidden] * double[:, None], bias * double)  # TB(5H)
        linear = functional.linear(x, input_weight[BLOCKS * hidden :])  # TBH
        if not mask.all():  # i = f = 0 gives c = 0, and with V x = 0 also h = 0: a sentence starts from zeros
            gates[..., : 2 * hidden].masked_fill_(~mask[:, :, None], -torch.inf)
            linear.masked_fill_(~mask[:, :, None], 0)
        recurrent = (weight * double[:, None]).T.contiguous()  # H(5H)
        h = c = x.new_zeros(rows, hidden)
        y, cells, tanh_cells = (x.new_empty(steps, rows, hidden) for _ in range(3))
        for t in _order(steps, backwards):
            i, f, g, o, r = gates[t].addmm_(h, recurrent).sigmoid_().chunk(BLOCKS, dim=1)
            c = torch.mul(f, c, out=cells[t]).addcmul_(i, g, value=2).sub_(i)
            h = torch.mul(o, torch.tanh(c, out=tanh_cells[t]), out=y[t]).sub_(linear[t]).mul_(r).add_(linear[t])
            if keep is not None:
                h.mul_(keep)
        ctx.save_for_backward(x, mask, input_weight, weight, gates, linear, y, cells, tanh_cells)
        ctx.keep, ctx.backwards = keep, backwards
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        x, mask, input_weight, weight, gates, linear, y, cells, tanh_cells = ctx.saved_tensors
        steps, rows, hidden = y.shape
        i, f, g, o, r = gates.unflatten(2, (BLOCKS, hidden)).unbind(dim=2)  # TBH each
        # The factors of the gradients of c (i, f, g) and of h (o, r), for all steps at once.
        slopes = gates * (1 - gates)  # TB(5H)
        for slope, factor in zip(
            slopes.unflatten(2, (BLOCKS, hidden)).unbind(dim=2),
            (2 * g - 1, _before(cells, ctx.backwards), 4 * i, r * tanh_cells, o * tanh_cells - linear),
            strict=True,
        ):
            slope.mul_(factor)
        slopes = slopes.unflatten(2, (BLOCKS, hidden))  # TB5H
        to_cell = r * o * (1 - tanh_cells * tanh_cells)
        d_gates, d_h = torch.empty_like(slopes), gradients[0].clone(memory_format=torch.contiguous_format)
        d_c = x.new_zeros(rows, hidden)
        for t in reversed(_order(steps, ctx.backwards)):
            if ctx.keep is not None:
                d_h[t].mul_(ctx.keep)
            d_c.addcmul_(d_h[t], to_cell[t])
            torch.mul(slopes[t, :, :3], d_c[:, None], out=d_gates[t, :, :3])
            torch.mul(slopes[t, :, 3:], d_h[t, :, None], out=d_gates[t, :, 3:])
            d_c.mul_(f[t])
            if 0 <= (before := t + (1 if ctx.backwards else -1)) < steps:
                d_h[before].addmm_(d_gates[t].flatten(1), weight)
        d_linear = d_h.mul_(1 - r).masked_fill_(~mask[:, :, None], 0).flatten(0, 1)  # (TB)H
        d_gates, inputs = d_gates.flatten(2).flatten(0, 1), x.flatten(0, 1)  # (TB)(5H), (TB)D
        d_x = torch.addmm(d_gates @ input_weight[: BLOCKS * hidden], d_linear, input_weight[BLOCKS * hidden :])
        d_input_weight = torch.cat([d_gates.T @ inputs, d_linear.T @ inputs])
        d_weight = d_gates.T @ _before(y, ctx.backwards).flatten(0, 1)
        return d_x.view_as(x), None, d_input_weight, d_weight, d_gates.sum(dim=0), None, None


def _order(steps: int, backwards: bool) -> range:
    return range(steps)[:: -1 if backwards else 1]


def _before(states: Tensor, backwards: bool) -> Tensor:
    """The state before each step: TBH -> TBH."""
    start = torch.zeros_like(states[:1])
    return torch.cat([states[1:], start]) if backwards else torch.cat([start, states[:-1]])
