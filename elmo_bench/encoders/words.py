"""Word vectors as modules: learned, or static with a trainable correction."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from elmo_bench.encoders.static import StaticVectors
from elmo_bench.text.vocabulary import PADDING, UNKNOWN, Vocabulary


class LearnedWords(nn.Module):
    """A trained vector for each word of the vocabulary (seen at least twice in training); all other words share one."""

    def __init__(self, vocabulary: Vocabulary, dim: int):
        super().__init__()
        self.vocabulary = vocabulary
        self.table = nn.Embedding(len(self.vocabulary), dim, padding_idx=PADDING)
        nn.init.uniform_(self.table.weight, -((3 / dim) ** 0.5), (3 / dim) ** 0.5)  # as Lample et al. 2016
        self.table.weight.data[PADDING] = 0
        self.dim, self.frozen = dim, 0

    def index(self, word: str) -> int:
        """The row of a word."""
        return self.vocabulary[word]

    def forward(self, rows: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        return self.table(rows)


class StaticWords(nn.Module):
    """A frozen table; with `trainable`, a correction (from zero) is learned for each row that the training words use.

    Table plus correction acts as a trainable copy of those rows and keeps the table out of every checkpoint. Words that
    are not in the table have zeros and share one correction.
    """

    table: Tensor
    slots: Tensor

    def __init__(self, vectors: StaticVectors, training_words: Iterable[str], *, trainable: bool):
        super().__init__()
        self.vectors, self.dim = vectors, vectors.dim
        self.register_buffer("table", torch.zeros(len(vectors.words) + 2, vectors.dim), persistent=False)
        self.table[2:] = torch.from_numpy(vectors.vectors)
        self.frozen = vectors.vectors.size
        self.correction = None
        if trainable:
            seen = sorted({self.index(word) for word in training_words} | {UNKNOWN})
            slots = torch.zeros(len(self.table), dtype=torch.int64)
            slots[seen] = torch.arange(1, len(seen) + 1)
            self.register_buffer("slots", slots, persistent=False)
            self.correction = nn.Embedding(len(seen) + 1, vectors.dim, padding_idx=0)
            nn.init.zeros_(self.correction.weight)

    def index(self, word: str) -> int:
        """The row of a word."""
        row = self.vectors.lookup(word)
        return UNKNOWN if row is None else row + 2

    def forward(self, rows: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        fixed = self.table[rows]
        return fixed if self.correction is None else fixed + self.correction(self.slots[rows])
