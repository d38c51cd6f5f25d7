"""Spans as vectors: their first and last tokens, a soft head word, and their width (Lee et al. 2017)."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class SpanVectors(nn.Module):
    """[first token; last token; width; soft head], `dim` wide.

    context: the width of the contextual vectors, of which a span has its first and last and which score its words as
    heads; lexical: of the vectors that the head is a mean of; longest: tokens of a span, at most; feature: of the
    learned vector of a width.

    What needs memory is never made for all spans of a document: `project` gives a linear layer over their vectors from
    what the layer makes of the tokens. Only the spans that are kept get their vectors, by `forward`.
    """

    def __init__(self, *, context: int, lexical: int, longest: int, feature: int):
        super().__init__()
        self.sizes = (context, context, feature, lexical)
        self.dim = sum(self.sizes)
        self.widths = nn.Embedding(longest, feature)
        nn.init.xavier_uniform_(self.widths.weight)
        self.score = nn.Linear(context, 1, bias=False)  # the softmax would not see a bias

    def heads(self, context: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        """The tokens of each span and how much each of them is its head: int64 [S, W], and [S, W] summing to 1."""
        width = int((ends - starts).max()) + 1 if len(starts) else 1
        tokens = starts[:, None] + torch.arange(width, device=starts.device)  # SW
        inside = tokens <= ends[:, None]
        tokens = torch.where(inside, tokens, starts[:, None])
        scores = self.score(context).squeeze(1)[tokens].masked_fill(~inside, -torch.inf)  # SW
        return tokens, torch.softmax(scores, dim=1)

    def forward(self, context: Tensor, lexical: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """context [T, context], lexical [T, lexical], first and last tokens [S] -> [S, dim]."""
        head = _means(lexical, *self.heads(context, starts, ends))  # S(lexical)
        return torch.cat([context[starts], context[ends], self.widths(ends - starts), head], dim=1)

    def project(self, layer: nn.Linear, context: Tensor, lexical: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        """`layer(self(context, lexical, starts, ends))`, [S, H], with no tensor larger than that."""
        first, last, width, head = layer.weight.split(self.sizes, dim=1)
        y = functional.linear(context, first, layer.bias)[starts] + functional.linear(context, last)[ends]
        y = y + functional.linear(self.widths.weight, width)[ends - starts]
        return y + _means(functional.linear(lexical, head), *self.heads(context, starts, ends))


def _means(values: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean of the tokens of each span: [T, D], [S, W], [S, W] -> [S, D]; nothing of size SWD is made."""
    return functional.embedding_bag(tokens, values, mode="sum", per_sample_weights=weights.to(values.dtype))
