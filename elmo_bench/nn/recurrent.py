"""Bidirectional recurrent layers over padded batches."""

import torch
from torch import Tensor, nn


def turned(x: Tensor, mask: Tensor) -> Tensor:
    """Each text of x [B, T, D] back to front, its padding left where it is; mask bool [B, T], padding last.

    Twice is once back again.
    """
    steps = torch.arange(mask.shape[1], device=mask.device)
    mirror = mask.sum(dim=1, keepdim=True) - 1 - steps
    return x.gather(1, torch.where(mask, mirror, steps)[:, :, None].expand_as(x))


class _Bidirectional(nn.Module):
    """One layer in both directions that never reads padding: [B, T, D] -> [B, T, 2H], onward half first.

    The returning half reads each text back to front, so nothing has to be packed, which is slower on CPUs: what oneDNN
    takes at once, torch does step by step on a packed text.
    """

    kind: type[nn.GRU | nn.LSTM]

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.onward, self.returning = (self.kind(dim, hidden, batch_first=True) for _ in range(2))
        self.dim = 2 * hidden

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask bool [B, T], its padding last; padded positions come out as zeros."""
        y = self.onward(x)[0]  # BTH
        z = turned(self.returning(turned(x, mask))[0], mask)  # BTH
        return torch.cat([y, z], dim=2) * mask[:, :, None]  # BT(2H)


class BiLstm(_Bidirectional):
    """Long short-term memory; as `_Bidirectional`."""

    kind = nn.LSTM


class BiGru(_Bidirectional):
    """Gated recurrent units; as `_Bidirectional`."""

    kind = nn.GRU
