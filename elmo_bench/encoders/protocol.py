"""What an encoder is. A kind of encoder is a module of this package with `load(**options) -> Encoder`.

A `load` with a parameter `seed` gets the run's, unless the yaml has one. Its encoder then also has `identity`.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

Sentence = tuple[str, ...]


class Encoder(Protocol):
    """Frozen; turns tokenised sentences into layers. The same sentence gives the same layers in any call."""

    @property
    def checksum(self) -> str:
        """Identifies the vectors, in the cache and in the hash of a run."""

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
    # `files`: the paths of the files that it was loaded from, or `inputs` if these do not hold its numbers;
    # and `identity`: in place of `checksum` in the hash, so that runs whose seeds draw other numbers share one.

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device."""
