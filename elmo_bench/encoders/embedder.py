"""What a head sees: word vectors, the task's character CNN and the mixed layers of the frozen encoder, concatenated."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.mix import ScalarMix
from elmo_bench.encoders.words import LearnedWords, StaticWords
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.text.batch import TextBatch

PLACES = ("input", "output")


class Embedder(nn.Module):
    """Concatenates its parts, each of which may be None.

    Its width is `dim` at the head's input and `output_dim` at the output of the head's first biRNN.
    """

    def __init__(
        self,
        *,
        words: LearnedWords | StaticWords | None,
        characters: CharacterCnn | None,
        mixes: dict[str, ScalarMix],
        layer_dim: int,
    ):
        super().__init__()
        self.words, self.characters, self.mixes = words, characters, nn.ModuleDict(mixes)
        self.dim = sum(part.dim for part in (words, characters) if part is not None)
        self.dim += layer_dim if "input" in mixes else 0
        self.output_dim = layer_dim if "output" in mixes else 0

    def forward(self, text: TextBatch) -> Tensor:
        """[B, T, dim], for the head's input."""
        parts = []
        if self.words is not None:
            parts.append(self.words(text.words))
        if self.characters is not None:
            assert text.spellings is not None
            # Each distinct word of the batch is read once.
            parts.append(functional.embedding(text.spellings, self.characters(text.characters)))
        if "input" in self.mixes:
            parts.append(self.mixes["input"](text.layers, text.mask))
        return torch.cat(parts, dim=2)

    def output(self, text: TextBatch) -> Tensor:
        """[B, T, output_dim], for the output of the head's first biRNN; output_dim is 0 for the place `input`."""
        if "output" in self.mixes:
            return self.mixes["output"](text.layers, text.mask)
        return torch.zeros(*text.mask.shape, 0, device=text.mask.device)

    def regularisation(self) -> Tensor:
        """The mixes' penalties: a scalar to add to the loss of one item."""
        return sum((mix.regularisation() for mix in self.mixes.values()), torch.zeros(()))  # type: ignore[operator, misc]
