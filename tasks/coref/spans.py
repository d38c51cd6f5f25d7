"""Spans of a document (Lee et al. 2017).

All candidates, the best that do not cross, and their vectors.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.nn.dropout import Dropout

LONGEST = 1000  # tokens of a span: all spans of a sentence are scored


def enumerate_spans(sentences: Tensor, *, width: int) -> tuple[Tensor, Tensor]:
    """First and last tokens, int64 [S] each, of every span within one sentence.

    width: maximum tokens of a span. sentences: int64 [T], the sentence of each token,
    ascending. The spans are ordered by first and then last token.
    """
    tokens = len(sentences)
    numbers = torch.arange(tokens, device=sentences.device)  # T
    starts = numbers[:, None].expand(-1, width)  # TW
    ends = starts + torch.arange(width, device=sentences.device)  # TW
    same = sentences[ends.clamp(max=tokens - 1)] == sentences[starts]
    inside = (ends < tokens) & same
    return starts[inside], ends[inside]


def keep_best_spans(
    scores: Tensor, starts: Tensor, ends: Tensor, *, number: int
) -> Tensor:
    """Indices, int64 [at most `number`], of the spans that pruning keeps.

    They are ordered by first and then last token. scores, starts, ends [S]. Spans are
    taken by falling score (ties by index), and a span that partly overlaps one already
    taken is skipped; nested spans do not cross. Not differentiable.
    """
    order = torch.argsort(scores.detach(), descending=True, stable=True).tolist()
    firsts, lasts = starts.tolist(), ends.tolist()
    # Of the longest span taken: the last token by the first, and the first by the last.
    longest: dict[int, int] = {}
    earliest: dict[int, int] = {}
    taken: list[int] = []
    for index in order:
        if len(taken) >= number:
            break
        start, end = firsts[index], lasts[index]
        inside = range(start + 1, end + 1)
        if any(longest.get(token, -1) > end for token in inside):
            continue
        if any(earliest.get(token, start) < start for token in range(start, end)):
            continue
        taken.append(index)
        longest[start] = max(end, longest.get(start, -1))
        earliest[end] = min(start, earliest.get(end, start))
    taken.sort(key=lambda index: (firsts[index], lasts[index]))
    return torch.tensor(taken, dtype=torch.int64, device=scores.device)


class SpanVectors(nn.Module):
    """[first token; last token; width; soft head], `dim` wide.

    context: size of the contextual vectors: a span has the vectors of its first and
    last token, and they score its tokens as heads. lexical: size of the vectors that
    the soft head averages. longest: maximum tokens of a span. feature: size of the
    learned vector of a width; dropout: its rate, a mask for each span (e2e-coref).
    Raises UserError for sizes that no head can have.

    No large tensor is ever built for all spans of a document: `project` applies a
    linear layer to all span vectors through its products with the tokens. Only the
    spans that pruning keeps get their vectors, from `forward`.
    """

    def __init__(
        self, *, context: int, lexical: int, longest: int, feature: int, dropout: float
    ):
        super().__init__()
        if not 1 <= longest <= LONGEST:
            raise UserError(
                f"task.head.width={longest}: a span has 1 to {LONGEST:,} tokens. "
                "Choose such a number."
            )
        if feature < 1:
            raise UserError(
                f"task.head.feature={feature}: the size of a vector. "
                "Choose a number from 1."
            )
        self.sizes = (context, context, feature, lexical)
        self.dim = sum(self.sizes)
        self.widths = nn.Embedding(longest, feature)
        nn.init.xavier_uniform_(self.widths.weight)
        self.dropout = Dropout(dropout)
        # The softmax would cancel a bias.
        self.score = nn.Linear(context, 1, bias=False)

    def width_vectors(self, starts: Tensor, ends: Tensor) -> Tensor:
        """The learned vector of each span's width, [S, feature].

        In training with dropout.
        """
        return self.dropout(self.widths(ends - starts))

    def heads(
        self, context: Tensor, starts: Tensor, ends: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The tokens of each span, int64 [S, W], and their weights as heads, [S, W].

        The weights of a span sum to 1.
        """
        width = int((ends - starts).max()) + 1 if len(starts) else 1
        tokens = starts[:, None] + torch.arange(width, device=starts.device)  # SW
        inside = tokens <= ends[:, None]
        tokens = torch.where(inside, tokens, starts[:, None])
        scores = self.score(context).squeeze(1)[tokens]  # SW
        scores = scores.masked_fill(~inside, -torch.inf)
        return tokens, torch.softmax(scores, dim=1)

    def forward(
        self,
        context: Tensor,
        lexical: Tensor,
        starts: Tensor,
        ends: Tensor,
        *,
        widths: Tensor,
    ) -> Tensor:
        """The vectors of spans, [S, dim].

        context [T, context], lexical [T, lexical], first and last tokens [S], widths:
        `width_vectors`.
        """
        head = _means(lexical, *self.heads(context, starts, ends))  # S(lexical)
        return torch.cat([context[starts], context[ends], widths, head], dim=1)

    def project(
        self,
        layer: nn.Linear,
        context: Tensor,
        lexical: Tensor,
        starts: Tensor,
        ends: Tensor,
        *,
        widths: Tensor,
    ) -> Tensor:
        """`layer(self(context, lexical, starts, ends, widths=widths))`, [S, H].

        No tensor is larger.
        """
        first, last, width, head = layer.weight.split(self.sizes, dim=1)
        of_first = functional.linear(context, first, layer.bias)[starts]
        of_last = functional.linear(context, last)[ends]
        y = of_first + of_last + functional.linear(widths, width)
        of_words = functional.linear(lexical, head)
        return y + _means(of_words, *self.heads(context, starts, ends))


def _means(values: Tensor, tokens: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean of the tokens of each span: [T, D], [S, W], [S, W] -> [S, D].

    No tensor [S, W, D] is built. In float32 under autocast: on a GPU the operator has
    no gradient in bfloat16.
    """
    kind = torch.promote_types(values.dtype, torch.float32)
    return functional.embedding_bag(
        tokens, values.to(kind), mode="sum", per_sample_weights=weights.to(kind)
    )
