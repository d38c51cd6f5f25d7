"""The best sequence of labels among those that hard constraints allow."""

import torch
from torch import Tensor


def best_paths(scores: Tensor, mask: Tensor, *, starts: Tensor, transitions: Tensor) -> list[list[int]]:
    """The path with the highest sum of scores [B, T, K] in each row of mask [B, T].

    starts bool [K]: labels that may begin. transitions bool [K, K]: row, a label; column, a label that may follow it.
    At least one label must be allowed everywhere. Padding is never read.
    """
    forbidden = torch.zeros_like(transitions, dtype=scores.dtype).masked_fill(~transitions, -torch.inf)  # KK
    best = scores[:, 0].masked_fill(~starts, -torch.inf)  # BK: the best score of a path that ends in each label
    stay = torch.arange(scores.shape[2], device=scores.device).expand_as(best)  # BK
    pointers = []
    for t in range(1, scores.shape[1]):
        longer, before = (best[:, :, None] + forbidden).max(dim=1)  # BK, BK
        inside = mask[:, t, None]
        best = torch.where(inside, longer + scores[:, t], best)
        pointers.append(torch.where(inside, before, stay))
    path = [best.argmax(dim=1, keepdim=True)]  # B1
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1]))
    labels = torch.cat(path[::-1], dim=1).tolist()
    return [row[:length] for row, length in zip(labels, mask.sum(dim=1).tolist(), strict=True)]
