"""The biLSTM of Lee et al. 2017: coupled gates, learned initial states, one dropout mask for each sequence."""

import torch
from torch import Tensor, nn

from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.nn.recurrence import Lstm, recur, slope_


class CoupledCell(Lstm):
    """j = tanh(x + U h), i, o = σ(x + U h), c' = (1 - i) ∘ c + i ∘ j, h' = o ∘ tanh(c'). Blocks: j, i, o."""

    gates, inner, scales = 3, 2, (2.0, 1.0, 1.0)

    def cell(self, c: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        j, i, _ = blocks
        return torch.lerp(c, 4 * j, i, out=out)

    def slopes(self, c: Tensor, s: Tensor, *blocks: Tensor) -> tuple[Tensor, Tensor]:
        j, i, o = blocks
        through, to_c, d_i = 1 - i, o * (0.25 - s * s), (4 * j).sub_(c)
        slope_(o).mul_(s)
        torch.addcmul(i, 4 * j * j, i, value=-1, out=j)
        slope_(i).mul_(d_i)
        return to_c, through


class CoupledBiLstm(nn.Module):
    """One layer in both directions: [B, T, D] -> [B, T, 2H].

    In training, dropout zeroes units of the h that the next step reads: the same units at every step of a sequence, and
    different ones for the other direction. Recurrent weights start orthonormal, gate by gate.
    """

    def __init__(self, dim: int, hidden: int, *, dropout: float):
        super().__init__()
        self.hidden, self.dim, self.dropout = hidden, 2 * hidden, dropout
        self.inputs = nn.ModuleList(nn.Linear(dim, 3 * hidden) for _ in range(2))  # gates j, i, o
        gates = [nn.init.orthogonal_(torch.empty(hidden, hidden)) for _ in range(6)]
        self.recurrent = nn.Parameter(torch.stack([torch.cat(gates[:3]), torch.cat(gates[3:])]))  # 2(3H)H
        bound = (6 / (1 + hidden)) ** 0.5  # Glorot's of a row, as in e2e-coref
        self.first = nn.Parameter(torch.empty(2, 2, hidden).uniform_(-bound, bound))  # h and c of each direction
        for layer in self.inputs:
            nn.init.xavier_uniform_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask bool [B, T], padding last. Padded positions are never read and come out as zeros."""
        weight, bias = (torch.cat([getattr(layer, name) for layer in self.inputs]) for name in ("weight", "bias"))
        keep = None
        if self.training and self.dropout:
            keep = dropout_mask((len(x), 2, self.hidden), self.dropout, self.recurrent)  # B2H
        return recur(
            CoupledCell,
            x,
            mask,
            weight=weight,
            bias=bias,
            recurrent=self.recurrent,
            backwards=(False, True),
            first=self.first,
            keep=keep,
        )
