"""Variational dropout (Gal and Ghahramani 2016)."""

from torch import Tensor, nn


class VariationalDropout(nn.Module):
    """Drops the same features at every token of a sequence: [B, T, D] -> [B, T, D]."""

    def __init__(self, rate: float):
        super().__init__()
        self.dropout = nn.Dropout(rate)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.dropout.p:
            return x
        return x * self.dropout(x.new_ones(x.shape[0], 1, x.shape[2]))
