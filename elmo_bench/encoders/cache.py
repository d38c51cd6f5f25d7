"""The layers of a frozen encoder: computed once, kept in memory or on disk, reused over epochs, runs and processes.

The folder on disk has a subfolder for each encoder, with many files, and a cap on the bytes of all of them. Processes
share it without locks: a file appears atomically under a unique name and is never changed; its modification time is
when it was last used. Two processes that compute the same layers write them twice, which does no harm.

A file is a safetensors file with the layers of N sentences. Damaged ones are removed, and computed again:
  keys    uint8 [N, 16]  what the layers were computed from (`_key`)
  tokens  int64 [N]      T of each entry
  checks  uint64 [N]     xxh3 of the entry's bytes, seeded with its key, so that a swapped entry does not pass
  layers  [numbers]      float32: the entries one after another, each [L, T, D]
"""

import hashlib
import os
import random
import shutil
import time
import uuid
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from torch import Tensor
from xxhash import xxh3_64_intdigest

from elmo_bench.base.downloads import cache_folder
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.machine import choose_threads, use_threads
from elmo_bench.base.progress import console, progress
from elmo_bench.base.reading import reader
from elmo_bench.encoders import Encoder, Sentence
from elmo_bench.encoders.checks import check_layers, code_of
from elmo_bench.text.batch import pools

VERSION = 1  # raise it when an encoder's code gives other vectors for the same weights: old layers are not read then
MODES = ("auto", "off", "ram", "disk")
TOKENS_AT_ONCE = 16_384  # whose layers are in one file
KEY_BYTES = 16
SPARE = 10**9  # bytes that are left free on the disk
ABANDONED = 600  # seconds after which an unfinished file belongs to no process


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
        about = f"{VERSION} {encoder.layers} {encoder.dim} float32 {encoder.checksum}\n{variant}{code_of(encoder)}"
        self._begun = hashlib.blake2b(about.encode(), digest_size=KEY_BYTES)
        self._kept: dict[Sentence, Tensor] = {}  # [L, T, D] in memory, or in a file that is mapped into it
        self._memory = torch.device("cpu")  # where they are
        self._folder: StoreFolder | None = None
        if mode in ("auto", "disk"):
            root = Path(folder).expanduser() if folder else cache_folder() / "layers"
            self._folder = StoreFolder(
                root, self._key(()).hex(), layers=encoder.layers, dim=encoder.dim, max_bytes=max_gb * 1e9
            )

    def bytes_of(self, sentences: Iterable[Sentence]) -> int:
        """The bytes of the layers of these sentences."""
        tokens = sum(len(sentence) for sentence in sentences)
        return tokens * self.encoder.layers * self.encoder.dim * torch.float32.itemsize

    def fill(self, sentences: Iterable[Sentence], *, threads: int | None = None) -> None:
        """Read or compute the layers of every distinct sentence. Raises UserError if they do not fit.

        A CPU computes them on so many threads, which change them by rounding alone; None: one for each idle core.
        """
        if self.mode == "off":
            return
        new = {*sentences} - self._kept.keys()
        size = self.bytes_of([*self._kept, *new])
        if size / 1e9 > self.max_gb:
            problem = f"the layers take {size / 1e9:.1f} GB, more than store.max_gb={self.max_gb}"
            if self.mode != "auto":
                raise UserError(f"{problem}. Raise it, or use store=off.")
            console.print(f"{problem}: they are computed for every batch")
            self.mode, self._kept = "off", {}
            return
        device = self.encoder.device  # half of a GPU's free memory is left for training
        if device.type != "cuda" or 2 * self.bytes_of(new) < torch.cuda.mem_get_info(device)[0]:
            self._memory = device
        missing = {self._key(sentence): sentence for sentence in new}
        if self._folder is not None:
            self._folder.seen.clear()
        self._look_up(missing)
        if missing:
            with use_threads(choose_threads(threads, "encode")) if device.type == "cpu" else nullcontext():
                self._compute(missing)

    def batch(self, sentences: Sequence[Sentence]) -> Tensor:
        """Layers [B, L, T, D] of a batch on the store's device, float32, zeros after a sentence's end."""
        missing = list(dict.fromkeys(sentence for sentence in sentences if sentence not in self._kept))
        computed = dict(zip(missing, self._encode(missing), strict=True)) if missing else {}
        rows = [computed[each] if each in computed else self._kept[each] for each in sentences]
        lengths = [layers.shape[1] for layers in rows]
        on_host = any(layers.device.type == "cpu" for layers in rows)  # collected there, and copied at once
        batch = torch.empty(
            (len(rows), self.encoder.layers, max(lengths), self.encoder.dim),
            dtype=torch.float32,
            device="cpu" if on_host else self.device,
            pin_memory=on_host and self.device.type == "cuda",
        )
        target: Any = batch.numpy() if on_host else batch  # numpy copies rows faster than torch
        for row, length, layers in zip(target, lengths, rows, strict=True):
            row[:, :length], row[:, length:] = layers.cpu().numpy() if on_host else layers, 0
        return batch.to(self.device, non_blocking=True)

    def _key(self, sentence: Sentence) -> bytes:
        """The key of a sentence under this encoder: a digest of its tokens, each with its length."""
        digest = self._begun.copy()
        for word in (token.encode("utf-8", "surrogatepass") for token in sentence):
            digest.update(b"\n%d:%b" % (len(word), word))
        return digest.digest()

    def _look_up(self, missing: dict[bytes, Sentence]) -> None:
        """Move from `missing` what is in files that were not looked at yet."""
        if self._folder is not None:
            for key, layers in self._folder.entries(missing):
                if key in missing:  # else two files have it
                    self._kept[missing.pop(key)] = layers

    def _compute(self, missing: dict[bytes, Sentence]) -> None:
        """Compute and keep what is missing, except what other processes write meanwhile."""
        sentences = sorted(missing.values(), key=lambda sentence: (len(sentence), sentence))
        lengths = [len(sentence) for sentence in sentences]
        work = list(pools(range(len(sentences)), lengths, size=len(sentences), tokens=TOKENS_AT_ONCE))
        random.Random().shuffle(work)  # so that processes with the same work share it
        with progress("encode", total=len(work)) as meter:
            for pool in work:
                self._look_up(missing)
                rest = [sentences[number] for number in pool if sentences[number] not in self._kept]
                if rest:
                    self._keep(rest, self._encode(rest))
                meter.advance(sum(lengths[number] for number in pool))

    def _keep(self, sentences: Sequence[Sentence], layers: Sequence[Tensor]) -> None:
        """Write a file with these layers and map it; or keep them in memory, in `auto` also if that is impossible."""
        if self._folder is not None:
            try:
                self._kept |= dict(zip(sentences, self._folder.add(map(self._key, sentences), layers), strict=True))
                return
            except UserError as error:
                if self.mode == "disk":
                    raise
                console.print(f"{error} Layers are kept in memory.", highlight=False)
                self._folder = None
        self._kept.update(zip(sentences, [each.to(self._memory) for each in layers], strict=True))

    def _encode(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """Layers as they are kept, on the encoder's device."""
        layers = check_layers(self.encoder, sentences, self.encoder.encode(sentences), name=type(self.encoder).__name__)
        return [each.contiguous() for each in layers]


class StoreFolder:
    """The files of one encoder (`name`) in `root`, all with the same L and D; `max_bytes` caps `root`."""

    def __init__(self, root: Path, name: str, *, layers: int, dim: int, max_bytes: float):
        self.root, self.own, self.max_bytes = root, root / name, max_bytes
        self.layers, self.dim = layers, dim
        self.seen: set[str] = set()  # names of files that were looked at

    @reader
    def entries(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Tensor]]:
        """Layers [L, T, D] of the wanted keys in files that were not looked at yet; damaged files are removed."""
        for path in sorted(self.own.glob("*.safetensors")):
            if path.name in self.seen:
                continue
            self.seen.add(path.name)
            try:
                if entries := self._read(path, wanted):
                    with suppress(OSError):
                        os.utime(path)  # used now
                yield from entries
            except (SafetensorError, ValueError):
                with suppress(OSError):
                    path.unlink()
                    console.print(f"{path} is damaged and was removed: its layers are computed again", highlight=False)
            except (OSError, RuntimeError):  # removed by another process, or torch cannot map it
                continue

    def add(self, keys: Iterable[bytes], layers: Sequence[Tensor]) -> list[Tensor]:
        """Write a file with layers [L, T, D]; the same ones, mapped. Raises UserError without room or permission."""
        arrays, keys = [each.cpu().numpy() for each in layers], list(keys)
        path = self.own / f"{uuid.uuid4().hex}.safetensors"
        try:
            self._make_room(512 + sum(2 * KEY_BYTES + array.nbytes for array in arrays))
            with atomic_write(path) as handle:
                contents: dict[str, np.ndarray] = {
                    "keys": np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES),
                    "tokens": np.array([array.shape[1] for array in arrays], dtype=np.int64),
                    "checks": np.array([_check(*pair) for pair in zip(keys, arrays, strict=True)], dtype=np.uint64),
                    "layers": np.concatenate([array.ravel() for array in arrays]),
                }
                save_file(contents, handle.name)  # by name: `save` to bytes takes four times as long
            written = dict(self._read(path, keys))
        except (OSError, RuntimeError, SafetensorError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"{self.own}: layers cannot be stored ({why}).") from None
        self.seen.add(path.name)
        return [written[key] for key in keys]

    def _make_room(self, size: int) -> None:
        """Remove the least recently used files until `size` more bytes fit. Raises OSError if they never will."""
        self.root.mkdir(parents=True, exist_ok=True)
        files = sorted(self._files())
        taken = sum(size_of for _, size_of, _ in files)
        while (free := shutil.disk_usage(self.root).free - SPARE) < size or taken + size > self.max_bytes:
            if not files or free + taken < size:  # nothing is removed in vain
                raise OSError(f"no room for {size / 1e9:.2f} GB, {free / 1e9:.2f} GB free")
            _, size_of, path = files.pop(0)
            path.unlink(missing_ok=True)
            taken -= size_of

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        """(last used, bytes, path) of every encoder's files; an abandoned unfinished file counts as never used."""
        for path in self.root.glob("*/*.safetensors*"):
            with suppress(OSError):  # removed meanwhile
                status = path.stat()
                unfinished = path.name.startswith(".")
                if not unfinished or time.time() - status.st_mtime > ABANDONED:
                    yield 0 if unfinished else status.st_mtime_ns, status.st_size, path

    def _read(self, path: Path, wanted: Container[bytes]) -> list[tuple[bytes, Tensor]]:
        """The wanted keys and their layers in a file, which is mapped into memory: it stays readable after another
        process removes it (POSIX). Raises SafetensorError or ValueError if it is not one that `add` wrote."""
        with safe_open(path, framework="pt") as file:  # the framework that maps files instead of copying them
            keys, tokens, checks, numbers = (file.get_tensor(name) for name in ("keys", "tokens", "checks", "layers"))
        count = tokens.numel()  # a single number has no length
        shapes = [(tensor.dtype, tuple(tensor.shape)) for tensor in (keys, tokens, checks)]
        if shapes != [(torch.uint8, (count, KEY_BYTES)), (torch.int64, (count,)), (torch.uint64, (count,))]:
            raise ValueError("other arrays")
        ends = np.cumsum(tokens.numpy()) * self.layers * self.dim
        whole = tuple(numbers.shape) == (ends[-1:].sum(),) and numbers.dtype == torch.float32
        if tokens.numpy().min(initial=0) < 0 or not whole:
            raise ValueError("other layers")
        entries = []
        for row, length, end, check in zip(keys.numpy(), tokens.tolist(), ends.tolist(), checks.tolist(), strict=True):
            if (key := row.tobytes()) in wanted:
                layers = numbers[end - self.layers * length * self.dim : end]
                if _check(key, layers.numpy()) != check:
                    raise ValueError("its bytes have changed")
                entries.append((key, layers.view(self.layers, length, self.dim)))
        return entries


def _check(key: bytes, layers: np.ndarray) -> int:
    return xxh3_64_intdigest(layers.data, seed=int.from_bytes(key[:8], "little"))
