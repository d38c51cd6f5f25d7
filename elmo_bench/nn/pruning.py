"""Keeping the best spans of a document, none of which cross (Lee et al. 2017)."""

import torch
from torch import Tensor


def keep_best_spans(scores: Tensor, starts: Tensor, ends: Tensor, *, number: int) -> Tensor:
    """The places, int64 [at most `number`], of the spans kept, in the order of their first and then last tokens.

    scores, starts, ends [S]: the best span is taken first, and one that partly overlaps a span already taken is left
    out; spans within each other do not cross. Equal scores go by place. Not differentiable.
    """
    order = torch.argsort(scores.detach(), descending=True, stable=True).tolist()
    firsts, lasts = starts.tolist(), ends.tolist()
    longest: dict[int, int] = {}  # by first token, the last token of the longest span taken
    earliest: dict[int, int] = {}  # by last token, the first token of the longest span taken
    kept: list[int] = []
    for place in order:
        if len(kept) >= number:
            break
        start, end = firsts[place], lasts[place]
        if any(longest.get(token, -1) > end for token in range(start + 1, end + 1)) or any(
            earliest.get(token, start) < start for token in range(start, end)
        ):
            continue
        kept.append(place)
        longest[start] = max(end, longest.get(start, -1))
        earliest[end] = min(start, earliest.get(end, start))
    kept.sort(key=lambda place: (firsts[place], lasts[place]))
    return torch.tensor(kept, dtype=torch.int64, device=scores.device)
