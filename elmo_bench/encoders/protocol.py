"""What an encoder is. A kind of encoder is a module of this package with a function `load(**options) -> Encoder`."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

Sentence = tuple[str, ...]


class Encoder(Protocol):
    """Frozen; turns tokenised sentences into layers. The same sentence gives the same layers in any call.

    checksum identifies the vectors, in the hash of a run and in the cache. layers is L, dim is D, parameters their number.
    """

    checksum: str
    device: torch.device

    @property
    def layers(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def parameters(self) -> int: ...
    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device."""
        ...
