"""LSTM layers with highway connections whose directions alternate (He et al. 2017).

g = tanh(W x + U h + b)    i, f, o, r = σ(W x + U h + b)    c = f ∘ c' + i ∘ g
h = r ∘ o ∘ tanh(c) + (1 - r) ∘ V x
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.nn.recurrence import Lstm, recur

BLOCKS = 5  # gates, in the order g, i, f, o, r; the input weights have V as a sixth block


class HighwayCell(Lstm):
    """The equations above. Blocks: g, i, f, o, r, V x."""

    gates = BLOCKS

    def output(self, tanh_c: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        *_, o, r, v = blocks
        return torch.lerp(v, o * tanh_c, r, out=out)

    def slopes(self, c: Tensor, tanh_c: Tensor, *blocks: Tensor) -> tuple[Tensor, ...]:
        *lstm, r, v = blocks
        d_c, through, d_g, d_i, d_f, d_o = super().slopes(c, tanh_c, *lstm)
        d_r = (lstm[3] * tanh_c - v) * r * (1 - r)
        return d_c.mul_(r), through, d_g, d_i, d_f, d_o.mul_(r), d_r, 1 - r


class HighwayLstm(nn.Module):
    """One layer in one direction that never reads padding: [B, T, D] -> [B, T, H].

    Variational dropout applies to the new h, before the next step and the next layer read it (He et al. 2017).
    """

    def __init__(self, dim: int, hidden: int, *, backwards: bool, dropout: float):
        super().__init__()
        self.backwards, self.dropout = backwards, dropout
        self.input_weight = nn.Parameter(torch.empty((BLOCKS + 1) * hidden, dim))
        self.recurrent = nn.Parameter(torch.empty(BLOCKS * hidden, hidden))
        self.bias = nn.Parameter(torch.zeros(BLOCKS * hidden))
        for block in (*self.input_weight.data.split(hidden), *self.recurrent.data.split(hidden)):
            nn.init.orthogonal_(block)
        self.bias.data[2 * hidden : 3 * hidden] = 1  # f

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask bool [B, T]; padded positions come out as zeros."""
        hidden = self.recurrent.shape[1]
        with torch.autocast(x.device.type, enabled=False):
            inputs = functional.linear(
                x.to(self.recurrent.dtype), self.input_weight, functional.pad(self.bias, (0, hidden))
            )
            if not (self.training and self.dropout):
                return recur(HighwayCell, inputs, mask, self.recurrent[None], backwards=[self.backwards])
            keep = dropout_mask((len(x), 1, hidden), self.dropout, self.recurrent)  # B1H
            return keep * recur(HighwayCell, inputs, mask, self.recurrent[None], backwards=[self.backwards], keep=keep)


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
        for layer in self.layers:
            x = layer(x, mask)
        return x
