"""The layers of a frozen encoder: computed once, kept in memory or on disk, reused over epochs, runs and processes."""

import hashlib
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import choose_threads, use_threads
from elmo_bench.base.progress import console, progress
from elmo_bench.encoders import Encoder, Sentence
from elmo_bench.encoders.cache_files import KEY_BYTES, Entry, StoreFolder, remove_damaged
from elmo_bench.text.batch import pools

VERSION = (
    1  # raise it when an encoder's code gives other vectors for the same weights, so that old layers are not found
)
MODES = ("auto", "off", "ram", "disk")
FLOAT = torch.float32  # of layers, wherever they are kept
TOKENS_AT_ONCE = 16_384


class LayerStore:
    """Layers by sentence, handed out in batches on one device (the encoder's by default) with at most one copy each.

    mode: `disk` keeps layers in `folder` (by default in the cache folder), for later runs and other processes; `ram`
    keeps them in this process, on the encoder's device if they fit there; `off` computes them for every batch; `auto`
    is `disk`, but `ram` if the folder cannot be written and `off` above `max_gb`.
    max_gb: the most (10⁹ bytes) of layers in memory, or of files in the folder, whose least recently used are removed.
    variant: the encoder's configuration that changes its vectors and is not in its checksum.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        mode: str = "auto",
        max_gb: float = 10.0,
        folder: str | Path | None = None,
        variant: str = "",
        device: str | torch.device | None = None,
    ):
        if mode not in MODES:
            raise UserError(f"store={mode}: unknown. Choose one of: {', '.join(MODES)}.")
        self.encoder, self.mode, self.max_gb = encoder, mode, max_gb
        self.device = torch.device(encoder.device if device is None else device)
        self._key = _keys(f"{VERSION} {encoder.layers} {encoder.dim} float32 {encoder.checksum}\n{variant}")
        self._kept: dict[Sentence, Tensor] = {}  # in memory
        self._memory = torch.device("cpu")  # where they are
        self._stored: dict[Sentence, Entry] = {}  # on disk
        self._folder: StoreFolder | None = None
        if mode in ("auto", "disk"):
            root = Path(folder).expanduser() if folder else cache_folder() / "layers"
            self._folder = StoreFolder(
                root,
                self._key(()).hex(),
                layers=encoder.layers,
                dim=encoder.dim,
                max_bytes=max_gb * 1e9,
            )

    def bytes_of(self, sentences: Iterable[Sentence]) -> int:
        """The bytes of the layers of these sentences."""
        tokens = sum(len(sentence) for sentence in sentences)
        return tokens * self.encoder.layers * self.encoder.dim * FLOAT.itemsize

    def fill(self, sentences: Iterable[Sentence], *, threads: int | None = None) -> None:
        """Find or compute the layers of every distinct sentence. Raises UserError if they do not fit.

        A CPU computes them on so many threads, which change them by rounding alone; None: one for each idle core.
        """
        if self.mode == "off":
            return
        new = {*sentences} - self._kept.keys() - self._stored.keys()
        size = self.bytes_of([*self._kept, *self._stored, *new])
        if size / 1e9 > self.max_gb:
            problem = f"the layers take {size / 1e9:.1f} GB, more than store.max_gb={self.max_gb}"
            if self.mode != "auto":
                raise UserError(f"{problem}. Raise it, or use store=off.")
            console.print(f"{problem}: they are computed for every batch")
            self.mode, self._kept, self._stored = "off", {}, {}
            return
        if _has_room(self.encoder.device, self.bytes_of(new)):
            self._memory = self.encoder.device
        missing, seen = {self._key(sentence): sentence for sentence in new}, set[str]()
        self._look_up(missing, seen)
        for path in {entry.path for entry in self._stored.values()}:
            with suppress(OSError):
                os.utime(path)  # used now
        if missing and self._folder is not None:
            with self._or_in_memory():
                self._folder.make_room(self.bytes_of(missing.values()))
        if missing:
            on_cpu = self.encoder.device.type == "cpu"
            with use_threads(choose_threads(threads, "encode")) if on_cpu else nullcontext():
                self._compute(missing, seen)

    def batch(self, sentences: Sequence[Sentence]) -> Tensor:
        """Layers [B, L, T, D] of a batch on the store's device, float32, zeros after a sentence's end."""
        found = [self._read(sentence) for sentence in sentences]
        missing = list(dict.fromkeys(each for each, layers in zip(sentences, found, strict=True) if layers is None))
        computed = dict(zip(missing, self._encode(missing), strict=True)) if missing else {}
        for sentence in computed.keys() & self._stored.keys():  # damaged on disk
            del self._stored[sentence]
            self._keep_in_memory([sentence], [computed[sentence]])
        rows = [computed[each] if layers is None else layers for each, layers in zip(sentences, found, strict=True)]
        lengths = [layers.shape[1] for layers in rows]
        on_host = any(layers.device.type == "cpu" for layers in rows)  # collected there, and copied at once
        batch = torch.empty(
            (len(rows), self.encoder.layers, max(lengths), self.encoder.dim),
            dtype=FLOAT,
            device="cpu" if on_host else self.device,
            pin_memory=on_host and self.device.type == "cuda",
        )
        target: Any = batch.numpy() if on_host else batch  # numpy copies rows faster than torch
        for row, length, layers in zip(target, lengths, rows, strict=True):
            row[:, :length], row[:, length:] = layers.cpu().numpy() if on_host else layers, 0
        return batch.to(self.device, non_blocking=True)

    def _read(self, sentence: Sentence) -> Tensor | None:
        """The layers that are kept; None if there are none, or they are damaged."""
        entry = self._stored.get(sentence)
        if entry is None:
            return self._kept.get(sentence)
        if (layers := entry.read()) is None:
            remove_damaged(entry.path)
        return layers

    def _look_up(self, missing: dict[bytes, Sentence], seen: set[str]) -> None:
        """Move from `missing` what is in files whose names are not in `seen`, and add the names to it."""
        if self._folder is not None:
            for key, entry in self._folder.entries(missing, seen):
                self._stored[missing.pop(key)] = entry

    def _compute(self, missing: dict[bytes, Sentence], seen: set[str]) -> None:
        """Compute and keep what is missing, except what other processes write meanwhile."""
        sentences = sorted(missing.values(), key=lambda sentence: (len(sentence), sentence))
        lengths = [len(sentence) for sentence in sentences]
        work = list(pools(range(len(sentences)), lengths, size=len(sentences), tokens=TOKENS_AT_ONCE))
        random.Random().shuffle(work)  # so that processes with the same work share it
        with progress("encode", total=len(work)) as meter:
            for pool in work:
                self._look_up(missing, seen)
                rest = [sentences[number] for number in pool if sentences[number] not in self._stored]
                if rest:
                    self._keep(rest, self._encode(rest))
                meter.advance(sum(lengths[number] for number in pool))

    def _keep(self, sentences: Sequence[Sentence], layers: Sequence[Tensor]) -> None:
        if self._folder is not None:
            with self._or_in_memory():
                keys = [self._key(sentence) for sentence in sentences]
                entries = self._folder.add(keys, [each.cpu().numpy() for each in layers])
                self._stored.update(zip(sentences, map(entries.__getitem__, keys), strict=True))
                return
        self._keep_in_memory(sentences, layers)

    def _keep_in_memory(self, sentences: Sequence[Sentence], layers: Sequence[Tensor]) -> None:
        self._kept.update(zip(sentences, [each.to(self._memory) for each in layers], strict=True))

    @contextmanager
    def _or_in_memory(self) -> Iterator[None]:
        try:
            yield
        except UserError as error:
            if self.mode == "disk":
                raise
            console.print(f"{error} Layers are kept in memory.", highlight=False)
            self._folder = None

    def _encode(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """Layers as they are kept, on the encoder's device."""
        found = self.encoder.encode(sentences)
        _check(self.encoder, sentences, found)
        return [each.to(FLOAT).contiguous() for each in found]


def _check(encoder: Encoder, sentences: Sequence[Sentence], found: Sequence[object]) -> None:
    """Raises UserError if a custom encoder does not give [L, T, D] for each sentence: fewer rows would become zeros."""
    who = f"{type(encoder).__name__}.encode"
    if len(found) != len(sentences):
        raise UserError(f"{who}: {len(found)} tensors for {len(sentences)} sentences. Return one for each.")
    for sentence, layers in zip(sentences, found, strict=True):
        wanted = [encoder.layers, len(sentence), encoder.dim]
        if not isinstance(layers, Tensor) or [*layers.shape] != wanted:
            gave = [*layers.shape] if isinstance(layers, Tensor) else f"a {type(layers).__name__}"
            raise UserError(
                f"{who}: {gave} for a sentence of {len(sentence)} tokens. Return a float32 tensor {wanted}: layers, "
                "tokens, dimensions."
            )


def _has_room(device: torch.device, size: int) -> bool:
    """Whether so many bytes leave at least half of a GPU's free memory for training."""
    return device.type != "cuda" or 2 * size < torch.cuda.mem_get_info(device)[0]


def _keys(identity: str) -> Callable[[Sentence], bytes]:
    """The key of a sentence under this identity: a digest of its tokens, each with its length."""
    begun = hashlib.blake2b(identity.encode(), digest_size=KEY_BYTES)

    def key(sentence: Sentence) -> bytes:
        digest = begun.copy()
        for word in (token.encode("utf-8", "surrogatepass") for token in sentence):
            digest.update(b"\n%d:%b" % (len(word), word))
        return digest.digest()

    return key
