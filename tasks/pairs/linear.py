"""One linear layer on what the means of two texts' frozen vectors have in common, and how they differ."""

import torch
from torch import Tensor

from elmo_bench.tasks.classification.linear import Head as OfOneText


class Head(OfOneText):
    """[u; v; |u - v|; u ∘ v] of the means u and v (Conneau et al. 2017, InferSent), and logistic regression."""

    vectors = 4

    def joined(self, means: Tensor) -> Tensor:
        """[2B, D], the first texts before the second ones -> [B, 4D]."""
        first, second = means.chunk(2)
        return torch.cat([first, second, (first - second).abs(), first * second], dim=1)
