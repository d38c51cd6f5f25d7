"""BiDAF with self-attention (Clark and Gardner 2018, the model of one paragraph) as Peters et al. 2018 trained it.

[words; character CNN; ELMo] -> biGRU, ELMo again -> bidirectional attention -> ReLU layer -> residual
self-attention -> biGRU: scores of the first token -> biGRU: scores of the last one.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.dropout import VariationalDropout
from elmo_bench.nn.recurrent import BiGru
from elmo_bench.tasks.squad.build import Question
from elmo_bench.text.batch import Indexer, TextBatch
from elmo_bench.text.vocabulary import PADDING

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


class Head(nn.Module):
    """BiDAF with self-attention. hidden: units per direction of every biGRU, and the size of the linear layers.

    longest_word: characters of a word that the character CNN reads. longest_answer: maximum tokens of a prediction.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        hidden: Sequence[int],
        dropout: float,
        longest_word: int,
        longest_answer: int,
    ):
        super().__init__()
        units, width = hidden
        self.embedder = embedder
        self.longest_word, self.longest_answer = longest_word, longest_answer
        self.dropout = VariationalDropout(dropout)
        self.encode = BiGru(embedder.dim, units)
        self.attend = BiAttention(self.encode.dim + embedder.output_dim)
        self.merge = nn.Linear(self.attend.dim, width)
        self.reread = BiGru(width, units)
        self.self_attend = SelfAttention(self.reread.dim)
        self.self_merge = nn.Linear(3 * self.reread.dim, width)
        self.first, self.last = BiGru(width, units), BiGru(width + 2 * units, units)
        # No bias: a softmax over the tokens would cancel it.
        self.first_scores = nn.Linear(self.first.dim, 1, bias=False)
        self.last_scores = nn.Linear(self.last.dim, 1, bias=False)
        self.apply(_initialise)

    def collate(self, examples: Sequence[Question], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch: {"question", "passage": TextBatch, "spans": int64 [B, answers, 2], "answers": int64 [B]}.

        A question without answers can be predicted but not trained on; its spans are zeros.
        """
        texts = [index([example.texts[part] for example in examples]) for part in (0, 1)]
        for text in texts:
            if text.characters is not None:
                text.characters = text.characters[:, : self.longest_word]
        spans = [torch.tensor(example.spans or ((0, 0),)) for example in examples]
        return {
            "question": texts[0],
            "passage": texts[1],
            "spans": nn.utils.rnn.pad_sequence(spans, batch_first=True),
            "answers": torch.tensor([len(span) for span in spans]),
            "cut": [example.passage.cut for example in examples],
        }

    def forward(self, batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Scores of each token of the passage as the answer's first and as its last [B, P]; -inf at padding."""
        mask = batch["passage"].mask
        question, passage = self._read(batch["question"]), self._read(batch["passage"])  # BQ(dim), BP(dim)
        x = torch.relu(self.merge(self.attend(passage, question, mask, batch["question"].mask)))  # BP(width)
        y = self.dropout(self.reread(self.dropout(x), mask))  # BP(2H)
        attended = self.self_attend(y, mask)  # BP(2H)
        x = x + torch.relu(self.self_merge(torch.cat([attended, y, attended * y], dim=2)))  # BP(width)
        x = self.dropout(x)
        first = self.first(x, mask)  # BP(2H)
        last = self.last(torch.cat([x, first], dim=2), mask)  # BP(2H)
        with torch.autocast(first.device.type, enabled=False):  # in bfloat16, sums of two scores would be too coarse
            scores = self.first_scores(first.float()).squeeze(2), self.last_scores(last.float()).squeeze(2)
        return scores[0].masked_fill(~mask, -torch.inf), scores[1].masked_fill(~mask, -torch.inf)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Sum of the cross-entropies of the first and the last token, averaged over the batch.

        In training, one of several answers is drawn each time, as in Clark and Gardner's code; otherwise the first is
        used.
        """
        rows = torch.arange(len(batch["answers"]), device=batch["answers"].device)
        chosen = torch.zeros_like(rows)
        if self.training:
            chosen = (torch.rand(rows.shape) * batch["answers"].cpu()).long().to(rows.device)
        first, last = self(batch)
        span = batch["spans"][rows, chosen]  # B2
        return functional.cross_entropy(first, span[:, 0]) + functional.cross_entropy(last, span[:, 1])

    def predict(self, batch: dict[str, Any]) -> list[str]:
        """The answer to each question: the text of the best span of at most `longest_answer` tokens."""
        spans = best_spans(*self(batch), longest=self.longest_answer)
        return [cut(*span) for cut, span in zip(batch["cut"], spans, strict=True)]

    def _read(self, text: TextBatch) -> Tensor:
        """A question or a passage: [B, T, 2H + output_dim]."""
        x = self.encode(self.dropout(self.embedder(text)), text.mask)
        return torch.cat([self.dropout(x), self.embedder.output(text)], dim=2)  # place=output, place=both


def best_spans(first: Tensor, last: Tensor, *, longest: int) -> list[tuple[int, int]]:
    """(start, end) of the highest first + last with start <= end < start + longest, for scores [B, P] each."""
    longest = min(longest, last.shape[1])
    ends = functional.pad(last, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)  # BP(longest)
    best = (first[:, :, None] + ends).flatten(1).argmax(dim=1).tolist()
    return [(place // longest, place // longest + place % longest) for place in best]


def _initialise(module: nn.Module) -> None:
    """As in Clark and Gardner's code: recurrent weights and characters near zero, Glorot for others, zero biases."""
    if isinstance(module, nn.GRU):
        for name, parameter in module.named_parameters():
            if "weight" in name:
                nn.init.trunc_normal_(parameter, std=0.05, a=-0.1, b=0.1)  # TensorFlow cuts at two deviations
            else:
                nn.init.zeros_(parameter)
    elif isinstance(module, CharacterCnn):
        nn.init.uniform_(module.embedding.weight, -0.05, 0.05)
        module.embedding.weight.data[PADDING] = 0
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
