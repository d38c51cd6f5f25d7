"""LSTM layers with highway connections whose directions alternate (He et al. 2017).

g = tanh(W x + U h + b)    i, f, o, r = σ(W x + U h + b)    c = f ∘ c' + i ∘ g
h = r ∘ o ∘ tanh(c) + (1 - r) ∘ V x
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.nn.recurrence import Lstm, recur, slope_

BLOCKS = 5  # gates, in the order g, i, f, o, r; the input weights have V as a sixth block


class HighwayCell(Lstm):
    """The equations above. Blocks: g, i, f, o, r, V x. `keep` is of the new h, wherever it is read."""

    gates, scales = BLOCKS, (2.0, 1.0, 1.0, 1.0, 1.0, 0.5)

    def __init__(self, blocks: Tensor, first: Tensor, keep: Tensor | None):
        super().__init__(blocks, first, None)
        self.kept = keep

    def output(self, s: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        *_, o, r, v = blocks
        h = torch.lerp(v, torch.mul(o, s, out=out), r, out=out)
        return h if self.kept is None else h.mul_(self.kept)

    def slopes(self, c: Tensor, s: Tensor, *blocks: Tensor) -> tuple[Tensor, Tensor]:
        *lstm, r, v = blocks
        d_r = (lstm[3] * s).sub_(v)
        to_c, through = super().slopes(c, s, *lstm)
        kept, most = (r, 1) if self.kept is None else (r * self.kept, self.kept)
        to_c.mul_(kept), lstm[3].mul_(kept)
        v.copy_(most - kept)
        slope_(r).mul_(d_r).mul_(most)
        return to_c, through


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
        keep, hidden = None, self.recurrent.shape[1]
        if self.training and self.dropout:
            keep = dropout_mask((len(x), 1, hidden), self.dropout, self.recurrent)  # B1H
        return recur(
            HighwayCell,
            x,
            mask,
            weight=self.input_weight,
            bias=functional.pad(self.bias, (0, hidden)),
            recurrent=self.recurrent[None],
            backwards=[self.backwards],
            keep=keep,
        )


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
