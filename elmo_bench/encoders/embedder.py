"""Inputs of a head: word vectors, the task's character CNN and the mixed layers of frozen encoders, concatenated.

Word vectors are learned, or static with a trainable correction. In training, a word that occurs once is read as the
unknown word half of the time (Lample et al. 2016): so the unknown word is trained, and the word too. The draws come
from torch's generator, whose state a checkpoint keeps.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.static import StaticVectors
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.batch import TextBatch
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


PLACES = ("input", "output")


def mix_name(place: str, part: str) -> str:
    """The name of a mix, in a record, too: its place, and of a stack also its encoder, such as `input elmo`."""
    return f"{place} {part}".rstrip()


class Embedder(nn.Module):
    """Concatenates its parts, each of which may be None.

    Its width is `dim` at the head's input and `output_dim` at the output of a biRNN in the head.
    mixes: by `mix_name` of their place and their encoder. layer_dims: the D of each encoder's layers. A single encoder
    has the name "".
    """

    def __init__(
        self,
        *,
        words: LearnedWords | StaticWords | None,
        characters: CharacterCnn | None,
        mixes: dict[str, ScalarMix],
        layer_dims: Mapping[str, int],
    ):
        super().__init__()
        self.words, self.characters, self.mixes = words, characters, nn.ModuleDict(mixes)
        self.dim = sum(part.dim for part in (words, characters) if part is not None)
        self.dim += sum(dim for part, dim in layer_dims.items() if mix_name("input", part) in mixes)
        self.output_dim = sum(dim for part, dim in layer_dims.items() if mix_name("output", part) in mixes)

    def forward(self, text: TextBatch) -> Tensor:
        """[B, T, dim], for the head's input."""
        parts = []
        if self.words is not None:
            parts.append(self.words(text.words))
        if self.characters is not None:
            assert text.spellings is not None
            # Each distinct word of the batch is read once.
            parts.append(functional.embedding(text.spellings, self.characters(text.characters)))
        return torch.cat([*parts, *self._mixed("input", text)], dim=2)

    def output(self, text: TextBatch) -> Tensor:
        """[B, T, output_dim], for the output of a biRNN in the head; output_dim is 0 for the place `input`."""
        empty = torch.zeros(*text.mask.shape, 0, device=text.mask.device)
        return torch.cat(self._mixed("output", text) or [empty], dim=2)

    def _mixed(self, place: str, text: TextBatch) -> list[Tensor]:
        """The mix [B, T, D] of each encoder that enters at this place."""
        named = {mix_name(place, part): layers for part, layers in text.layers.items()}
        return [self.mixes[name](layers, text.mask) for name, layers in named.items() if name in self.mixes]

    def regularisation(self) -> Tensor:
        """The mixes' penalties: a scalar to add to the loss of one item."""
        return sum((mix.regularisation() for mix in self.mixes.values()), torch.zeros(()))  # type: ignore[operator, misc]
