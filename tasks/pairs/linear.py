"""One linear layer on the means of two texts' frozen vectors."""

import torch
from torch import Tensor

from elmo_bench.tasks.classification.linear import Head as OfOneText


class Head(OfOneText):
    """[u; v; |u - v|; u ∘ v] of the means u and v, and logistic regression.

    Source of the four parts: Conneau et al. (2017), InferSent.
    """

    vectors = 4

    def joined(self, means: Tensor) -> Tensor:
        """[2B, D], the first texts before the second ones -> [B, 4D]."""
        first, second = means.chunk(2)
        return torch.cat([first, second, (first - second).abs(), first * second], dim=1)
