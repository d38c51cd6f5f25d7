"""Distances as a few classes (Lee et al. 2017)."""

import torch
from torch import Tensor

LAST = (0, 1, 2, 3, 4, 7, 15, 31, 63)  # the largest distance of each bucket but the last
BUCKETS = len(LAST) + 1


def distance_buckets(distances: Tensor) -> Tensor:
    """int64 distances from 0 to buckets 0 to 9: 0, 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63, 64 and more; same shape."""
    return torch.bucketize(distances, torch.tensor(LAST, device=distances.device))
