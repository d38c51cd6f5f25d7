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
from elmo_bench.tasks.squad.attention import BiAttention, SelfAttention
from elmo_bench.tasks.squad.build import Question
from elmo_bench.text.batch import Indexer, TextBatch
from elmo_bench.text.vocabulary import PADDING


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
        scores = (self.first_scores(first).squeeze(2), self.last_scores(last).squeeze(2))
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
