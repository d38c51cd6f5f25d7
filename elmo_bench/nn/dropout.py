"""Variational dropout (Gal and Ghahramani 2016)."""

from torch import Tensor, nn
from torch.nn import functional


class VariationalDropout(nn.Module):
    """Drops the same features at every token of a sequence: [B, T, D] -> [B, T, D]."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        return x * functional.dropout(x.new_ones(x.shape[0], 1, x.shape[2]), self.rate)
