"""The frozen layers of a data set, computed once and reused over epochs."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from elmo_bench.errors import UserError
from elmo_bench.progress import console, progress

Sentence = tuple[str, ...]
MODES = ("auto", "off", "ram")
TOKENS_AT_ONCE = 4096


class Encoder(Protocol):
    """Frozen; turns tokenised sentences into layers. `checksum` names the weights in the ledger."""

    checksum: str

    @property
    def layers(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def parameters(self) -> int: ...
    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, the same whatever else is in the call."""
        ...


class LayerStore:
    """Layers by sentence: `ram` keeps what `fill` computed, `off` computes anew, `auto` is `ram` within `max_gb`."""

    def __init__(self, encoder: Encoder, *, mode: str = "auto", max_gb: float = 4.0):
        if mode not in MODES:
            raise UserError(f"store.mode={mode}: choose one of: {', '.join(MODES)}")
        self.encoder, self.mode, self.max_gb = encoder, mode, max_gb
        self._kept: dict[Sentence, Tensor] = {}

    def gigabytes(self, sentences: Iterable[Sentence]) -> float:
        """What keeping the layers of these sentences takes, in GB (10⁹ bytes)."""
        return sum(len(sentence) for sentence in sentences) * self.encoder.layers * self.encoder.dim * 4 / 1e9

    def fill(self, sentences: Iterable[Sentence]) -> None:
        """Compute the layers of every distinct sentence, where they are kept; raises UserError if they do not fit."""
        new = sorted({*sentences} - self._kept.keys(), key=lambda sentence: (len(sentence), sentence))
        size = self.gigabytes([*self._kept, *new])
        if self.mode == "auto" and size > self.max_gb:
            console.print(
                f"the layers take {size:.1f} GB, more than store.max_gb={self.max_gb}: computed anew each time"
            )
            self.mode, self._kept = "off", {}
        if self.mode == "off":
            return
        if size > self.max_gb:
            raise UserError(
                f"the layers take {size:.1f} GB, more than store.max_gb={self.max_gb}; raise it, or use store.mode=off"
            )
        pools = list(_pools(new))
        with progress("encode", total=len(pools)) as meter:
            for pool in pools:
                self._kept.update(zip(pool, self.encoder.encode(pool), strict=True))
                meter.advance(sum(map(len, pool)))

    def batch(self, sentences: Sequence[Sentence]) -> Tensor:
        """Layers [B, L, T, D] of a batch, padded with zeros."""
        missing = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._kept]
        found = dict(zip(missing, self.encoder.encode(missing), strict=True)) if missing else {}
        layers = [found.get(sentence, self._kept.get(sentence)) for sentence in sentences]
        batch = torch.zeros(len(layers), self.encoder.layers, max(map(len, sentences)), self.encoder.dim)
        for row, kept in zip(batch, layers, strict=True):
            assert kept is not None
            row[:, : kept.shape[1]] = kept
        return batch


def _pools(sentences: Sequence[Sentence]) -> Iterable[list[Sentence]]:
    """Cut sentences (by rising length) into pools of about TOKENS_AT_ONCE tokens, at least one sentence each."""
    pool: list[Sentence] = []
    tokens = 0
    for sentence in sentences:
        if pool and tokens + len(sentence) > TOKENS_AT_ONCE:
            yield pool
            pool, tokens = [], 0
        pool.append(sentence)
        tokens += len(sentence)
    if pool:
        yield pool
