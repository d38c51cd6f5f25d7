"""Word vectors as modules: learned, or static with a trainable correction.

In training, a word that occurs once is read as the unknown word half of the time (Lample et al. 2016): so the unknown
word is trained, and the word too. The draws come from torch's generator, whose state a checkpoint keeps.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from elmo_bench.encoders.static import StaticVectors
from elmo_bench.text.vocabulary import PADDING, UNKNOWN, Vocabulary

HIDDEN = 0.5  # Lample et al. 2016: how often a word that occurs once is read as the unknown word


class LearnedWords(nn.Module):
    """A trained vector for each training word, the words that occur `repeated` times first; all others share one."""

    def __init__(self, words: Sequence[str], dim: int, *, repeated: int):
        super().__init__()
        self.vocabulary = Vocabulary(words)
        self.table = nn.Embedding(len(self.vocabulary), dim, padding_idx=PADDING)
        nn.init.uniform_(self.table.weight, -((3 / dim) ** 0.5), (3 / dim) ** 0.5)  # as Lample et al. 2016
        self.table.weight.data[PADDING] = 0
        self.dim, self.frozen = dim, 0
        self.rare = repeated + 2  # the first row of a word that occurs once

    def index(self, word: str) -> int:
        """The row of a word."""
        return self.vocabulary[word]

    def forward(self, rows: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        return self.table(hide(rows, rows >= self.rare) if self.training else rows)


class StaticWords(nn.Module):
    """A frozen table; with `trainable`, a correction is learned for each row that the training words use.

    Table plus correction acts as a trainable copy of those rows and keeps the table out of every checkpoint. Then each
    training word that is not in the table has a row of its own, and all other words share one; these start with normal
    numbers of the mean and the standard deviation of the training words' vectors (as in AllenNLP). Corrections of
    vectors start from zero. Without `trainable`, words that are not in the table have zeros.

    words: of the training text; those that occur `repeated` times come first.
    """

    table: Tensor
    slots: Tensor

    def __init__(self, vectors: StaticVectors, words: Sequence[str], *, repeated: int, trainable: bool):
        super().__init__()
        self.vectors, self.dim = vectors, vectors.dim
        known = [vectors.lookup(word) for word in words]
        own = [word for word, row in zip(words, known, strict=True) if row is None] if trainable else []
        first = len(vectors.words) + 2
        self._own = {word: row for row, word in enumerate(own, start=first)}
        # The first row of a word without a vector that occurs once: `own` is in the order of `words`.
        self.rare = first + sum(row is None for row in known[:repeated])
        self.register_buffer("table", torch.zeros(first + len(own), vectors.dim), persistent=False)
        self.table[2:first] = torch.from_numpy(vectors.vectors)
        self.frozen = vectors.vectors.size
        self.correction = None
        if trainable:
            used = sorted({row + 2 for row in known if row is not None})
            seen = [UNKNOWN, *self._own.values(), *used]
            slots = torch.zeros(len(self.table), dtype=torch.int64)
            slots[seen] = torch.arange(1, len(seen) + 1)
            self.register_buffer("slots", slots, persistent=False)
            self.correction = nn.Embedding(len(seen) + 1, vectors.dim, padding_idx=0)
            nn.init.zeros_(self.correction.weight)
            if used:
                numbers = vectors.vectors[[row - 2 for row in used]]
                new = self.correction.weight.data[1 : len(own) + 2]
                nn.init.normal_(new, float(numbers.mean()), float(numbers.std()))

    def index(self, word: str) -> int:
        """The row of a word."""
        row = self.vectors.lookup(word)
        return self._own.get(word, UNKNOWN) if row is None else row + 2

    def forward(self, rows: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        if self.correction is None:
            return self.table[rows]
        if self.training:
            rows = hide(rows, rows >= self.rare)
        return self.table[rows] + self.correction(self.slots[rows])


def hide(rows: Tensor, rare: Tensor) -> Tensor:
    """`rows` with UNKNOWN at random places of `rare`, each with probability HIDDEN; int64 and bool of one shape."""
    return rows.masked_fill(rare & (torch.rand(rows.shape, device=rows.device) < HIDDEN), UNKNOWN)
