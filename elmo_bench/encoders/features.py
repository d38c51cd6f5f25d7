"""The frozen layers of sentences: computed once, kept on disk or in memory, reused over epochs, runs and processes."""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console, progress
from elmo_bench.encoders.static import cache_folder
from elmo_bench.encoders.store_folder import StoreFolder
from elmo_bench.encoders.store_shard import KEY_BYTES, Entry, remove_damaged
from elmo_bench.text.pools import pools

Sentence = tuple[str, ...]
VERSION = (
    1  # raise it when an encoder's code gives other vectors for the same weights: what is stored is then not found
)
MODES = ("auto", "off", "ram", "disk")
DTYPES = {"float32": torch.float32, "float16": torch.float16}
TOKENS_AT_ONCE = 16_384


class Encoder(Protocol):
    """Frozen; turns tokenised sentences into layers. `checksum` names the vectors, in the ledger and in the store."""

    checksum: str

    @property
    def layers(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def parameters(self) -> int: ...
    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the CPU, the same whatever else is in the call."""
        ...


class LayerStore:
    """Layers by sentence.

    mode: `disk` keeps what `fill` computed in `folder` (by default in the cache folder), for later runs and other
    processes; `ram` keeps it in this process; `off` computes anew each time; `auto` is `disk`, but `ram` where nothing
    can be written, and `off` above `max_gb`.
    max_gb: cap (10⁹ bytes) of the layers in memory, or of all that lies in the folder, where the least recently used go
    first.
    dtype: `float32`, so that what is kept equals what was computed, or `float16`, to which every mode then rounds.
    variant: what of the encoder's configuration changes its vectors and is not in its checksum.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        mode: str = "auto",
        max_gb: float = 10.0,
        dtype: str = "float32",
        folder: str | Path | None = None,
        variant: str = "",
    ):
        if mode not in MODES:
            raise UserError(f"store={mode}: choose one of: {', '.join(MODES)}")
        if dtype not in DTYPES:
            raise UserError(f"store.dtype={dtype}: choose one of: {', '.join(DTYPES)}")
        self.encoder, self.mode, self.max_gb, self.dtype = encoder, mode, max_gb, DTYPES[dtype]
        self._key = _keys(f"{VERSION} {encoder.layers} {encoder.dim} {dtype} {encoder.checksum}\n{variant}")
        self._kept: dict[Sentence, np.ndarray] = {}  # in memory
        self._stored: dict[Sentence, Entry] = {}  # on disk
        self._folder: StoreFolder | None = None
        if mode in ("auto", "disk"):
            root = Path(folder).expanduser() if folder else cache_folder() / "layers"
            self._folder = StoreFolder(
                root,
                self._key(()).hex(),
                layers=encoder.layers,
                dim=encoder.dim,
                dtype=np.dtype(dtype),
                max_bytes=max_gb * 1e9,
            )

    def bytes_of(self, sentences: Iterable[Sentence]) -> int:
        """What keeping the layers of these sentences takes."""
        tokens = sum(len(sentence) for sentence in sentences)
        return tokens * self.encoder.layers * self.encoder.dim * self.dtype.itemsize

    def fill(self, sentences: Iterable[Sentence]) -> None:
        """Find or compute the layers of every distinct sentence, where they are kept. Raises UserError: no room."""
        if self.mode == "off":
            return
        new = {*sentences} - self._kept.keys() - self._stored.keys()
        size = self.bytes_of([*self._kept, *self._stored, *new]) / 1e9
        if size > self.max_gb:
            problem = f"the layers take {size:.1f} GB, more than store.max_gb={self.max_gb}"
            if self.mode != "auto":
                raise UserError(f"{problem}; raise it, or use store=off")
            console.print(f"{problem}: computed anew each time")
            self.mode, self._kept, self._stored = "off", {}, {}
            return
        if self._folder is None:
            self._compute(new, lambda: None)
            return
        missing, seen = {self._key(sentence): sentence for sentence in new}, set[str]()
        self._look_up(missing, seen)
        for path in {entry.path for entry in self._stored.values()}:
            self._folder.touch(path)
        if missing:
            with self._or_in_memory():
                self._folder.make_room(self.bytes_of(missing.values()))
            self._compute(missing.values(), lambda: self._look_up(missing, seen))

    def batch(self, sentences: Sequence[Sentence]) -> Tensor:
        """Layers [B, L, T, D] of a batch, float32, padded with zeros."""
        shape = (len(sentences), self.encoder.layers, max(map(len, sentences)), self.encoder.dim)
        batch = torch.empty(shape, dtype=self.dtype)
        rows = batch.numpy()  # row by row numpy copies faster than torch
        missing: dict[Sentence, list[int]] = {}
        for number, sentence in enumerate(sentences):
            layers = self._read(sentence)
            rows[number, :, len(sentence) :] = 0
            if layers is None:
                missing.setdefault(sentence, []).append(number)
            else:
                rows[number, :, : len(sentence)] = layers
        for sentence, layers in zip(missing, self._encode(list(missing)), strict=True):
            rows[missing[sentence], :, : len(sentence)] = layers
            if self._stored.pop(sentence, None):  # damaged on disk
                self._kept[sentence] = layers
        return batch.float()

    def _read(self, sentence: Sentence) -> np.ndarray | None:
        """Layers as they are kept; None where they are not, or have become damaged."""
        entry = self._stored.get(sentence)
        if entry is None:
            return self._kept.get(sentence)
        layers = entry.read()
        if layers is None:
            remove_damaged(entry.path)
        return layers

    def _look_up(self, missing: dict[bytes, Sentence], seen: set[str]) -> None:
        """Take out of `missing` what lies in files whose names are not in `seen`; they are added to it."""
        if self._folder is not None:
            for shard in self._folder.shards(seen):
                for number, key in enumerate(shard.keys):
                    if key in missing:
                        self._stored[missing.pop(key)] = shard.entry(number)

    def _compute(self, new: Iterable[Sentence], look_up: Callable[[], None]) -> None:
        sentences = sorted(new, key=lambda sentence: (len(sentence), sentence))
        lengths = [len(sentence) for sentence in sentences]
        work = list(pools(range(len(sentences)), lengths, size=len(sentences), tokens=TOKENS_AT_ONCE))
        random.Random().shuffle(work)  # so that processes with the same work share it
        with progress("encode", total=len(work)) as meter:
            for pool in work:
                look_up()
                rest = [sentences[number] for number in pool if sentences[number] not in self._stored]
                if rest:
                    self._keep(rest, self._encode(rest))
                meter.advance(sum(lengths[number] for number in pool))

    def _keep(self, sentences: Sequence[Sentence], layers: Sequence[np.ndarray]) -> None:
        if self._folder is not None:
            with self._or_in_memory():
                shard = self._folder.add([self._key(sentence) for sentence in sentences], layers)
                self._stored.update((sentence, shard.entry(number)) for number, sentence in enumerate(sentences))
                return
        self._kept.update(zip(sentences, layers, strict=True))

    @contextmanager
    def _or_in_memory(self) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            if self.mode == "disk":
                raise
            console.print(f"{error}: they are kept in memory", highlight=False)
            self._folder = None

    def _encode(self, sentences: Sequence[Sentence]) -> list[np.ndarray]:
        if not sentences:
            return []
        layers = [layer.to(self.dtype).contiguous().numpy() for layer in self.encoder.encode(sentences)]
        if self.dtype == torch.float16 and any(np.isinf(layer).any() for layer in layers):
            raise UserError("store.dtype=float16: a layer has numbers above 65504; use float32")
        return layers


def _keys(identity: str) -> Callable[[Sentence], bytes]:
    """What names the layers of a sentence under this identity: a digest of its tokens, each with its length."""
    begun = hashlib.blake2b(identity.encode(), digest_size=KEY_BYTES)

    def key(sentence: Sentence) -> bytes:
        digest = begun.copy()
        for word in (token.encode("utf-8", "surrogatepass") for token in sentence):
            digest.update(b"\n%d:%b" % (len(word), word))
        return digest.digest()

    return key
