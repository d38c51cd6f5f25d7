"""What an encoder is. A kind of encoder is a module of this package with `load(**options) -> Encoder`."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

Sentence = tuple[str, ...]


class Encoder(Protocol):
    """Frozen; turns tokenised sentences into layers. The same sentence gives the same layers in any call."""

    @property
    def checksum(self) -> str:
        """Identifies the vectors, in the hash of a run and in the cache."""

    @property
    def layers(self) -> int:
        """L"""

    @property
    def dim(self) -> int:
        """D"""

    @property
    def parameters(self) -> int:
        """The number of frozen parameters."""

    @property
    def device(self) -> torch.device: ...

    # May also have `expect(words)`: the words that `encode` will read, in one call before the first;
    # and `files`: the paths of the files that it was loaded from.

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device."""
