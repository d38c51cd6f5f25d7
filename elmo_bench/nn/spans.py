"""All spans of a document: up to so many tokens, none beyond its sentence."""

import torch
from torch import Tensor


def enumerate_spans(sentences: Tensor, *, width: int) -> tuple[Tensor, Tensor]:
    """First and last tokens, int64 [S] each, of every span of at most `width` tokens, by first and then last token.

    sentences: int64 [T], the sentence that each token stands in, sentences one after the other.
    """
    tokens = len(sentences)
    starts = torch.arange(tokens, device=sentences.device)[:, None].expand(-1, width)  # TW
    ends = starts + torch.arange(width, device=sentences.device)  # TW
    same = sentences[ends.clamp(max=tokens - 1)] == sentences[starts]
    inside = (ends < tokens) & same
    return starts[inside], ends[inside]
