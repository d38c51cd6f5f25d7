"""BiDAF with self-attention, as Peters et al. 2018 trained it.

Source: Clark and Gardner (2018), the model of one paragraph.

[words; character CNN; ELMo] -> biGRU, ELMo again -> bidirectional attention -> ReLU
layer -> residual self-attention -> biGRU: scores of the first token -> biGRU: scores of
the last one.
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
# The similarity of a masked token; with -inf a sequence of one token would have no
# gradient.
NEVER = -1e30


class Trilinear(nn.Module):
    """The similarity of each x to each y: x [B, P, D], y [B, Q, D] -> [B, P, Q].

    No tensor is larger than B·P·Q or B·P·D. There is no bias, as a softmax would cancel
    it.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.first = nn.Linear(dim, 1, bias=False)
        self.second = nn.Linear(dim, 1, bias=False)
        self.product = nn.Parameter(torch.empty(1, dim))
        for weight in (self.first.weight, self.second.weight, self.product):
            nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """x [B, P, D], y [B, Q, D] -> [B, P, Q]."""
        linear = self.first(x) + self.second(y).mT  # BPQ
        return torch.baddbmm(linear, x * self.product, y.mT)


class BiAttention(nn.Module):
    """Bidirectional attention: [B, P, D] -> [B, P, 4D].

    For each token x of the passage it gives [x; x̂; x ∘ x̂; x ∘ q̂]. x̂ is the mean of
    the question's tokens, weighted by x's attention; q̂, one for the whole passage, is
    the mean of the passage's tokens, weighted by their highest similarity to any token
    of the question.
    """

    def __init__(self, dim: int):
        super().__init__()
        self.similarity = Trilinear(dim)
        self.dim = 4 * dim

    def forward(
        self, passage: Tensor, question: Tensor, mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """[B, P, 4D].

        passage [B, P, D], question [B, Q, D]; masks bool [B, P] and [B, Q].
        """
        scores = self.similarity(passage, question)  # BPQ
        scores = scores.masked_fill(~question_mask[:, None], -torch.inf)
        attended = torch.softmax(scores, dim=2) @ question  # BPD
        highest = scores.amax(dim=2).masked_fill(~mask, -torch.inf)  # BP
        weights = torch.softmax(highest, dim=1)  # BP
        summary = weights[:, None] @ passage  # B1D
        parts = [passage, attended, passage * attended, passage * summary]
        return torch.cat(parts, dim=2)


class SelfAttention(nn.Module):
    """For each token, the attended mean of the other tokens: [B, P, D] -> [B, P, D].

    No token attends to itself. The softmax has one more term, exp(nothing), for
    attending to nothing (`nothing` is learned and starts at -1). Without gradients,
    rows are computed in blocks: memory grows with P, not with P².
    """

    def __init__(self, dim: int):
        super().__init__()
        self.similarity = Trilinear(dim)
        self.nothing = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, P, D], mask bool [B, P] -> [B, P, D]."""
        length = x.shape[1]
        size = length
        if not torch.is_grad_enabled():
            size = max(1, SCORES_AT_ONCE // mask.numel())
        starts = range(0, length, size)
        blocks = [self._rows(x, mask, start, start + size) for start in starts]
        return torch.cat(blocks, dim=1)

    def _rows(self, x: Tensor, mask: Tensor, start: int, end: int) -> Tensor:
        """The rows from `start` to before `end`: [B, end - start, D]."""
        scores = self.similarity(x[:, start:end], x)  # B(rows)P
        allowed = mask[:, None].repeat(1, scores.shape[1], 1)
        allowed.diagonal(offset=start, dim1=1, dim2=2).fill_(False)
        scores = scores.masked_fill(~allowed, NEVER)
        total = torch.logsumexp(scores, dim=2, keepdim=True)  # B(rows)1
        total = torch.logaddexp(total, self.nothing)
        return (scores - total).exp() @ x


class Head(nn.Module):
    """BiDAF with self-attention.

    hidden: units per direction of every biGRU, and the size of the linear layers.
    longest_word: characters of a word that the character CNN reads. longest_answer:
    maximum tokens of a prediction.
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
        self.longest_word = longest_word
        self.longest_answer = longest_answer
        self.dropout = VariationalDropout(dropout)
        self.encode = BiGru(embedder.dim, units)
        self.attend = BiAttention(self.encode.dim + embedder.output_dim)
        self.merge = nn.Linear(self.attend.dim, width)
        self.reread = BiGru(width, units)
        self.self_attend = SelfAttention(self.reread.dim)
        self.self_merge = nn.Linear(3 * self.reread.dim, width)
        self.first = BiGru(width, units)
        self.last = BiGru(width + 2 * units, units)
        # No bias: a softmax over the tokens would cancel it.
        self.first_scores = nn.Linear(self.first.dim, 1, bias=False)
        self.last_scores = nn.Linear(self.last.dim, 1, bias=False)
        self.apply(_initialise)

    def collate(self, examples: Sequence[Question], index: Indexer) -> dict[str, Any]:
        """Tensors of a batch, with the function that cuts each answer from its passage.

        {"question", "passage": TextBatch, "spans": int64 [B, answers, 2], "answers":
        int64 [B], "cut": functions}. A question without answers can be predicted but
        not trained on; its spans are zeros.
        """
        question = index([example.tokens for example in examples])
        passage = index([example.passage.tokens for example in examples])
        for text in (question, passage):
            if text.characters is not None:
                text.characters = text.characters[:, : self.longest_word]
        spans = [torch.tensor(example.spans or ((0, 0),)) for example in examples]
        return {
            "question": question,
            "passage": passage,
            "spans": nn.utils.rnn.pad_sequence(spans, batch_first=True),
            "answers": torch.tensor([len(span) for span in spans]),
            "cut": [example.passage.cut for example in examples],
        }

    def forward(self, batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Scores of each token of the passage as the answer's first and as its last.

        Two of [B, P]; -inf at padding.
        """
        mask, question_mask = batch["passage"].mask, batch["question"].mask
        question = self._read(batch["question"])  # BQ(dim)
        passage = self._read(batch["passage"])  # BP(dim)
        x = self.attend(passage, question, mask, question_mask)
        x = torch.relu(self.merge(x))  # BP(width)
        y = self.dropout(self.reread(self.dropout(x), mask))  # BP(2H)
        attended = self.self_attend(y, mask)  # BP(2H)
        joined = torch.cat([attended, y, attended * y], dim=2)
        x = x + torch.relu(self.self_merge(joined))  # BP(width)
        x = self.dropout(x)
        first = self.first(x, mask)  # BP(2H)
        last = self.last(torch.cat([x, first], dim=2), mask)  # BP(2H)
        # In bfloat16, sums of two scores would be too coarse.
        with torch.autocast(first.device.type, enabled=False):
            of_first = self.first_scores(first.float()).squeeze(2)
            of_last = self.last_scores(last.float()).squeeze(2)
        of_first = of_first.masked_fill(~mask, -torch.inf)
        return of_first, of_last.masked_fill(~mask, -torch.inf)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropies of the first and the last token, averaged over the batch.

        In training, one of several answers is drawn each time, as in Clark and
        Gardner's code; otherwise the first is used.
        """
        answers = batch["answers"]
        rows = torch.arange(len(answers), device=answers.device)
        chosen = torch.zeros_like(rows)
        if self.training:
            drawn = torch.rand(rows.shape) * answers.cpu()
            chosen = drawn.long().to(rows.device)
        first, last = self(batch)
        span = batch["spans"][rows, chosen]  # B2
        of_first = functional.cross_entropy(first, span[:, 0])
        return of_first + functional.cross_entropy(last, span[:, 1])

    def predict(self, batch: dict[str, Any]) -> list[str]:
        """The answer to each question.

        It is the text of the best span of at most `longest_answer` tokens.
        """
        spans = best_spans(*self(batch), longest=self.longest_answer)
        return [cut(*span) for cut, span in zip(batch["cut"], spans, strict=True)]

    def _read(self, text: TextBatch) -> Tensor:
        """A question or a passage: [B, T, 2H + output_dim]."""
        x = self.encode(self.dropout(self.embedder(text)), text.mask)
        # place=output, place=both
        return torch.cat([self.dropout(x), self.embedder.output(text)], dim=2)


def best_spans(first: Tensor, last: Tensor, *, longest: int) -> list[tuple[int, int]]:
    """(start, end) of the highest first + last, for scores [B, P] each.

    start <= end < start + longest.
    """
    longest = min(longest, last.shape[1])
    ends = functional.pad(last, (0, longest - 1), value=-torch.inf)
    ends = ends.unfold(1, longest, 1)  # BP(longest)
    best = (first[:, :, None] + ends).flatten(1).argmax(dim=1).tolist()
    return [(place // longest, place // longest + place % longest) for place in best]


def _initialise(module: nn.Module) -> None:
    """Start as in Clark and Gardner's code.

    Recurrent weights and characters near zero, Glorot for others, zero biases.
    """
    if isinstance(module, nn.GRU):
        for name, parameter in module.named_parameters():
            if "weight" in name:
                # TensorFlow cuts at two deviations.
                nn.init.trunc_normal_(parameter, std=0.05, a=-0.1, b=0.1)
            else:
                nn.init.zeros_(parameter)
    elif isinstance(module, CharacterCnn):
        nn.init.uniform_(module.embedding.weight, -0.05, 0.05)
        module.embedding.weight.data[PADDING] = 0
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
