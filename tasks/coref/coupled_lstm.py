"""The biLSTM of Lee et al. 2017: coupled gates, learned initial states, one dropout mask for each sequence."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.recurrent import reverse


class CoupledBiLstm(nn.Module):
    """One layer in both directions: [B, T, D] -> [B, T, 2H].

    c' = (1 - i) c + i tanh(j) and h' = sigmoid(o) tanh(c'), where i, j, o come from the input and the last h. In
    training, dropout zeroes units of the h that the next step reads: the same units at every step of a sequence, and
    different ones for the other direction. Recurrent weights start orthonormal, gate by gate.
    """

    def __init__(self, dim: int, hidden: int, *, dropout: float):
        super().__init__()
        self.hidden, self.dim, self.dropout = hidden, 2 * hidden, dropout
        self.inputs = nn.ModuleList(nn.Linear(dim, 3 * hidden) for _ in range(2))
        gates = [nn.init.orthogonal_(torch.empty(hidden, hidden)) for _ in range(6)]
        self.recurrent = nn.Parameter(torch.stack([torch.cat(gates[:3], dim=1), torch.cat(gates[3:], dim=1)]))
        self.first = nn.Parameter(torch.zeros(2, 2, hidden))  # h and c of each direction
        for layer in self.inputs:
            nn.init.xavier_uniform_(layer.weight)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask bool [B, T], padding last. Padded positions are never read and come out as zeros."""
        forwards, backwards = (layer(x) for layer in self.inputs)  # BT(3H)
        gates = torch.stack([forwards, reverse(backwards, mask)])  # 2BT(3H)
        h, c = self.first[:, :, None].expand(-1, -1, len(x), -1).to(gates.dtype)  # 2BH
        kept = functional.dropout(torch.ones_like(h), self.dropout, self.training)  # 2BH
        outputs = []
        for step in gates.unbind(2):  # 2B(3H)
            i, j, o = torch.baddbmm(step, h * kept, self.recurrent.to(h.dtype)).chunk(3, dim=2)
            c = torch.lerp(c, torch.tanh(j), torch.sigmoid(i))
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        y = torch.stack(outputs, dim=2)  # 2BTH
        return torch.cat([y[0], reverse(y[1], mask)], dim=2) * mask[:, :, None]  # BT(2H)
