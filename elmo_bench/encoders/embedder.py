"""Inputs of a head, concatenated.

They are word vectors, the task's character CNN and the mixed layers of encoders.
Word vectors are learned, or static with a trainable correction. In training, a word
that occurs once and has no static vector is read as the unknown word half of the time
(Lample et al. 2016): so the unknown word is trained, and the word too. The draws come
from torch's generator, whose state a checkpoint keeps.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.static import StaticVectors
from elmo_bench.encoders.tuning import Texts, Tuned
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.batch import TextBatch
from elmo_bench.text.vocabulary import PADDING, UNKNOWN, Vocabulary

# How often a word that occurs once is read as the unknown word (Lample et al. 2016).
HIDDEN = 0.5


class LearnedWords(nn.Module):
    """A trained vector for each training word; all others share one.

    The words that occur more than once, `repeated` many, come first.
    """

    def __init__(self, words: Sequence[str], dim: int, *, repeated: int):
        super().__init__()
        self.vocabulary = Vocabulary(words)
        self.table = nn.Embedding(len(self.vocabulary), dim, padding_idx=PADDING)
        bound = (3 / dim) ** 0.5  # as Lample et al. 2016
        nn.init.uniform_(self.table.weight, -bound, bound)
        self.table.weight.data[PADDING] = 0
        self.dim = dim
        self.frozen = 0
        self.rare = repeated + 2  # the first row of a word that occurs once

    def index(self, word: str) -> int:
        """The row of a word."""
        return self.vocabulary[word]

    def forward(self, rows: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        if self.training:
            rows = hide(rows, rows >= self.rare)
        return self.table(rows)


class StaticWords(nn.Module):
    """A frozen table, with a learned correction if it is `trainable`.

    A correction is learned for each row that the training words use. Table plus
    correction acts as a trainable copy of those rows and keeps the table out of every
    checkpoint. Then each training word that is not in the table has a row for itself,
    and all other words share one; these start with normal numbers of the mean and the
    standard deviation of the training words' vectors (as in AllenNLP). Corrections of
    vectors start from zero. Without `trainable`, words that are not in the table have
    zeros.

    words: of the training text; the `repeated` words that occur more than once come
        first.
    """

    table: Tensor
    slots: Tensor

    def __init__(
        self,
        vectors: StaticVectors,
        words: Sequence[str],
        *,
        repeated: int,
        trainable: bool,
    ):
        super().__init__()
        self.vectors = vectors
        self.dim = vectors.dim
        rows = [vectors.lookup(word) for word in words]
        first = len(vectors.words) + 2
        self._added: dict[str, int] = {}  # rows of training words without a vector
        if trainable:
            for word, row in zip(words, rows, strict=True):
                if row is None:
                    self._added[word] = first + len(self._added)
        # The first row of a word without a vector that occurs once: rows are added in
        # the order of `words`.
        self.rare = first + rows[:repeated].count(None)
        table = torch.zeros(first + len(self._added), vectors.dim)
        table[2:first] = torch.from_numpy(vectors.vectors)
        self.register_buffer("table", table, persistent=False)
        self.frozen = vectors.vectors.size
        self.correction: nn.Embedding | None = None
        if trainable:
            self._add_correction({row for row in rows if row is not None})

    def _add_correction(self, used: set[int]) -> None:
        """Learn a correction of the rows of `vectors` in use, and of the added rows."""
        in_order = sorted(used)
        corrected = [UNKNOWN, *self._added.values(), *(row + 2 for row in in_order)]
        slots = torch.zeros(len(self.table), dtype=torch.int64)
        slots[corrected] = torch.arange(1, len(corrected) + 1)
        self.register_buffer("slots", slots, persistent=False)
        self.correction = nn.Embedding(len(corrected) + 1, self.dim, padding_idx=0)
        nn.init.zeros_(self.correction.weight)
        if in_order:
            numbers = self.vectors.vectors[in_order]
            new = self.correction.weight.data[1 : len(self._added) + 2]
            nn.init.normal_(new, float(numbers.mean()), float(numbers.std()))

    def index(self, word: str) -> int:
        """The row of a word."""
        row = self.vectors.lookup(word)
        return self._added.get(word, UNKNOWN) if row is None else row + 2

    def forward(self, rows: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        if self.correction is None:
            return self.table[rows]
        if self.training:
            rows = hide(rows, rows >= self.rare)
        return self.table[rows] + self.correction(self.slots[rows])


def hide(rows: Tensor, rare: Tensor) -> Tensor:
    """`rows` with UNKNOWN at random positions of `rare`, each with probability HIDDEN.

    int64 and bool of one shape.
    """
    drawn = torch.rand(rows.shape, device=rows.device) < HIDDEN
    return rows.masked_fill(rare & drawn, UNKNOWN)


PLACES = ("input", "output")


def mix_name(place: str, part: str) -> str:
    """The name of a mix, in a record, too: its place, and of a stack also its encoder.

    Such as `input elmo`.
    """
    return f"{place} {part}".rstrip()


class Embedder(nn.Module):
    """Concatenates its parts, each of which may be None.

    Its width is `dim` at the head's input and `output_dim` at the output of a biRNN in
    the head.
    mixes: by `mix_name` of their place and their encoder. layer_dims: the D of each
    encoder's layers. A single encoder has the name "". tuned: what is trained of the
    encoder; None of a frozen one.
    """

    def __init__(
        self,
        *,
        words: LearnedWords | StaticWords | None,
        characters: CharacterCnn | None,
        mixes: dict[str, ScalarMix],
        layer_dims: Mapping[str, int],
        tuned: Tuned | None = None,
    ):
        super().__init__()
        self.tuned = tuned
        self.words = words
        self.characters = characters
        self.mixes = nn.ModuleDict(mixes)
        widths = {"input": 0, "output": 0}
        for place in PLACES:
            for part, dim in layer_dims.items():
                if mix_name(place, part) in mixes:
                    widths[place] += dim
        self.dim = widths["input"]
        self.dim += sum(part.dim for part in (words, characters) if part is not None)
        self.output_dim = widths["output"]

    def forward(self, text: TextBatch) -> Tensor:
        """[B, T, dim], for the head's input."""
        parts = []
        if self.words is not None:
            parts.append(self.words(text.words))
        if self.characters is not None:
            assert text.spellings is not None
            # Each distinct word of the batch is read once.
            spelled = self.characters(text.characters)
            parts.append(functional.embedding(text.spellings, spelled))
        return torch.cat([*parts, *self._mixed("input", text)], dim=2)

    def output(self, text: TextBatch) -> Tensor:
        """[B, T, output_dim], for the output of a biRNN in the head.

        output_dim is 0 for the place `input`.
        """
        empty = torch.zeros(*text.mask.shape, 0, device=text.mask.device)
        return torch.cat(self._mixed("output", text) or [empty], dim=2)

    @property
    def probe_dim(self) -> int:
        """The width of `for_probe`."""
        return self.dim + self.output_dim

    def for_probe(self, text: TextBatch) -> Tensor:
        """[B, T, probe_dim], for a head without a biRNN: its input and its output."""
        return torch.cat([self(text), self.output(text)], dim=2)

    def _mixed(self, place: str, text: TextBatch) -> list[Tensor]:
        """The mix [B, T, D] of each encoder that enters at this place."""
        mixed = []
        for part, layers in text.layers.items():
            name = mix_name(place, part)
            if name in self.mixes:
                mixed.append(self.mixes[name](self._layers(layers), text.mask))
        return mixed

    def _layers(self, layers: Any) -> Tensor:
        """Layers [B, L, T, D], of a tuned encoder from the texts of the batch."""
        if self.tuned is None:
            return layers
        assert isinstance(layers, Texts)
        return layers.layers(self.tuned)

    def regularisation(self) -> Tensor:
        """The mixes' penalties: a scalar to add to the loss of one item."""
        total = torch.zeros(())
        for mix in self.mixes.values():
            assert isinstance(mix, ScalarMix)
            total = total + mix.regularisation()
        return total
