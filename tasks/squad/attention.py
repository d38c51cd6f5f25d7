"""Attention by a trilinear similarity w·x + v·y + u·(x ∘ y) (Seo et al. 2017), as Clark and Gardner 2018 use it."""

import torch
from torch import Tensor, nn

SCORES_AT_ONCE = 2**24  # similarities in memory without gradients: 64 MiB
NEVER = -1e30  # the similarity of a masked token; with -inf a sequence of one token would have no gradient


class Trilinear(nn.Module):
    """The similarity of each x to each y: x [B, P, D], y [B, Q, D] -> [B, P, Q].

    No tensor is larger than B·P·Q or B·P·D. There is no bias, as a softmax would cancel it.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.first, self.second = nn.Linear(dim, 1, bias=False), nn.Linear(dim, 1, bias=False)
        self.product = nn.Parameter(torch.empty(1, dim))
        for weight in (self.first.weight, self.second.weight, self.product):
            nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """x [B, P, D], y [B, Q, D] -> [B, P, Q]."""
        return torch.baddbmm(self.first(x) + self.second(y).mT, x * self.product, y.mT)


class BiAttention(nn.Module):
    """Bidirectional attention: [x; x̂; x ∘ x̂; x ∘ q̂] for each token x of the passage, [B, P, D] -> [B, P, 4D].

    x̂ is the mean of the question's tokens, weighted by x's attention; q̂, one for the whole passage, is the mean of the
    passage's tokens, weighted by their highest similarity to any token of the question.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.similarity = Trilinear(dim)
        self.dim = 4 * dim

    def forward(self, passage: Tensor, question: Tensor, mask: Tensor, question_mask: Tensor) -> Tensor:
        """passage [B, P, D], question [B, Q, D]; masks bool [B, P] and [B, Q] -> [B, P, 4D]."""
        scores = self.similarity(passage, question).masked_fill(~question_mask[:, None], -torch.inf)  # BPQ
        attended = torch.softmax(scores, dim=2) @ question  # BPD
        weights = torch.softmax(scores.amax(dim=2).masked_fill(~mask, -torch.inf), dim=1)  # BP
        summary = weights[:, None] @ passage  # B1D
        return torch.cat([passage, attended, passage * attended, passage * summary], dim=2)


class SelfAttention(nn.Module):
    """Self-attention: for each token, the attended mean of the other tokens, [B, P, D] -> [B, P, D].

    No token attends to itself. The softmax has one more term, exp(nothing), for attending to nothing (`nothing` is
    learned and starts at -1). Without gradients, rows are computed in blocks: memory grows with P, not with P².
    """

    def __init__(self, dim: int):
        super().__init__()
        self.similarity = Trilinear(dim)
        self.nothing = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, P, D], mask bool [B, P] -> [B, P, D]."""
        size = x.shape[1] if torch.is_grad_enabled() else max(1, SCORES_AT_ONCE // mask.numel())
        return torch.cat([self._rows(x, mask, start, start + size) for start in range(0, x.shape[1], size)], dim=1)

    def _rows(self, x: Tensor, mask: Tensor, start: int, end: int) -> Tensor:
        scores = self.similarity(x[:, start:end], x)  # B(rows)P
        allowed = mask[:, None].repeat(1, scores.shape[1], 1)
        allowed.diagonal(offset=start, dim1=1, dim2=2).fill_(False)
        scores = scores.masked_fill(~allowed, NEVER)
        total = torch.logaddexp(torch.logsumexp(scores, dim=2, keepdim=True), self.nothing)  # B(rows)1
        return (scores - total).exp() @ x
