"""The nearest of a lemma's sense vectors, which are means of frozen vectors.

Source: Peters et al. (2018), section 5.3.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.embedder import Embedder
from elmo_bench.tasks.wsd.evaluation import Sentence, entry
from elmo_bench.tasks.wsd.metric import Answers
from elmo_bench.text.batch import Indexer

DIGITS = 5  # of a cosine; closer ones are equal, and the more frequent sense is taken


class Head(nn.Module):
    """A vector for each sense in training.

    A target gets the sense of its lemma with the highest cosine.

    Nothing here has to be fitted by trial: one epoch of plain SGD with rate 1 on the
    loss -Σ x · s(x), from zero, adds up the vectors x of each sense s. Their sum points
    where their mean points, and a cosine sees nothing else. The embedder is not
    trained: `mix=scalar` stays at the mean of the layers.

    senses: keys, each lemma's most frequent one first. A lemma without any gets its
    first sense (`Target.first`).
    """

    def __init__(self, embedder: Embedder, *, senses: Sequence[str]):
        super().__init__()
        self.embedder = embedder.requires_grad_(requires_grad=False)
        self.rows = {key: row for row, key in enumerate(senses)}
        self.candidates: dict[tuple[str, str], list[str]] = {}
        for key in senses:
            self.candidates.setdefault(entry(key), []).append(key)
        dim = embedder.probe_dim
        self.senses = nn.Parameter(torch.zeros(len(senses), dim))  # SD

    def collate(self, examples: Sequence[Sentence], index: Indexer) -> dict[str, Any]:
        """A batch of N targets in B sentences.

        {"text": TextBatch, "asked": lemma, part of speech and first sense of each
        target, by sentence, "tokens": int64 [3, P]: sentence, position and target of
        each token of a target, "pairs": int64 [2, M]: target and row of each of its
        senses}
        """
        asked = []
        tokens: list[tuple[int, int, int]] = []
        pairs: list[tuple[int, int]] = []
        number = 0
        for row, example in enumerate(examples):
            asked.append([(t.lemma, t.pos, t.first) for t in example.targets])
            for target in example.targets:
                places = range(target.start, target.end)
                tokens += [(row, place, number) for place in places]
                rows = [self.rows[key] for key in target.senses if key in self.rows]
                pairs += [(number, sense) for sense in rows]
                number += 1
        return {
            "text": index([example.tokens for example in examples]),
            "asked": asked,
            "tokens": torch.tensor(tokens).T,
            "pairs": torch.tensor(pairs, dtype=torch.int64).view(-1, 2).T,
        }

    def forward(self, batch: dict[str, Any]) -> Tensor:
        """The vector of each target [N, D]: the mean over its tokens."""
        text = batch["text"]
        sentence, position, target = batch["tokens"]
        x = self.embedder.for_probe(text)  # BTD
        x = x[sentence, position]  # PD
        lengths = torch.bincount(target)
        sums = x.new_zeros(len(lengths), x.shape[1]).index_add_(0, target, x)
        return sums / lengths[:, None]

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """-Σ x · s over the targets x and their senses s."""
        target, row = batch["pairs"]
        x = self(batch)[target].float()
        return -(x * functional.embedding(row, self.senses)).sum()

    def predict(self, batch: dict[str, Any]) -> list[list[Answers]]:
        """The answers of each sentence: one for each target.

        They are () where its lemma is not known.
        """
        vectors = iter(functional.normalize(self(batch).float(), dim=1))
        answers = []
        for sentence in batch["asked"]:
            answers.append([self._answer(asked, next(vectors)) for asked in sentence])
        return answers

    def _answer(self, asked: tuple[str, str, str], vector: Tensor) -> Answers:
        lemma, pos, first = asked
        candidates = self.candidates.get((lemma, pos))
        if candidates is None:
            return (first,) if first else ()
        if len(candidates) == 1:
            return (candidates[0],)
        rows = [self.rows[key] for key in candidates]
        senses = functional.normalize(self.senses[rows], dim=1)
        cosines = [round(cosine, DIGITS) for cosine in (senses @ vector).tolist()]
        return (candidates[cosines.index(max(cosines))],)
