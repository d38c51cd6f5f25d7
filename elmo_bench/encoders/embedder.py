"""What a head sees: word vectors, the task's character CNN and the mixed layers of frozen encoders, concatenated."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.encoders.words import LearnedWords, StaticWords
from elmo_bench.nn.character_cnn import CharacterCnn
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.batch import TextBatch

PLACES = ("input", "output")


def mix_name(place: str, part: str) -> str:
    """The name of a mix, in a record, too: its place, and of a stack also its encoder, such as `input elmo`."""
    return f"{place} {part}".rstrip()


class Embedder(nn.Module):
    """Concatenates its parts, each of which may be None.

    Its width is `dim` at the head's input and `output_dim` at the output of the head's first biRNN.
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
        """[B, T, output_dim], for the output of the head's first biRNN; output_dim is 0 for the place `input`."""
        empty = torch.zeros(*text.mask.shape, 0, device=text.mask.device)
        return torch.cat(self._mixed("output", text) or [empty], dim=2)

    def _mixed(self, place: str, text: TextBatch) -> list[Tensor]:
        """The mix [B, T, D] of each encoder that enters at this place."""
        named = {mix_name(place, part): layers for part, layers in text.layers.items()}
        return [self.mixes[name](layers, text.mask) for name, layers in named.items() if name in self.mixes]

    def regularisation(self) -> Tensor:
        """The mixes' penalties: a scalar to add to the loss of one item."""
        return sum((mix.regularisation() for mix in self.mixes.values()), torch.zeros(()))  # type: ignore[operator, misc]
