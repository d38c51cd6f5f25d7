"""Fully connected layers."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from elmo_bench.nn.dropout import Dropout


class FeedForward(nn.Sequential):
    """A linear layer, ReLU and dropout for each width in `hidden`: [..., dim] -> [..., hidden[-1]]."""

    def __init__(self, dim: int, *, hidden: Sequence[int], dropout: float):
        sizes = [dim, *hidden]
        layers = [
            layer for size, width in pairwise(sizes) for layer in (nn.Linear(size, width), nn.ReLU(), Dropout(dropout))
        ]
        super().__init__(*layers)
        self.dim = sizes[-1]
