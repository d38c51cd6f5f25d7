"""The folder of `cache.py`: one subfolder for each encoder, with many files, and a cap on the bytes of all of them.

Processes share it without locks: a file appears atomically under a unique name and is never changed; its modification
time is when it was last used. Two processes that compute the same layers write them twice, which does no harm. Damaged
or missing layers are computed again.

A file is a safetensors file with the layers of N sentences, verified at every read:
  keys    uint8 [N, 16]  what the layers were computed from (`cache._keys`)
  tokens  int64 [N]      T of each entry
  checks  uint64 [N]     xxh3 of the entry's bytes, seeded with its key, so that a swapped entry does not pass
  layers  [numbers]      float32: the entries one after another, each [L, T, D]
"""

import shutil
import time
import uuid
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from xxhash import xxh3_64_intdigest

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import console
from elmo_bench.base.reading import reader

KEY_BYTES = 16
ENTRY_BYTES = KEY_BYTES + 16  # of an entry in addition to its layers
HEADER_BYTES = 512  # of a file in addition to its entries
SPARE = 10**9  # bytes that are left free on the disk
ABANDONED = 600  # seconds after which an unfinished file belongs to no process
NAMES = ("keys", "tokens", "checks", "layers")


class StoreFolder:
    """The files of one encoder (`name`) in `root`, all with the same L and D; `max_bytes` caps `root`."""

    def __init__(self, root: Path, name: str, *, layers: int, dim: int, max_bytes: float):
        self.root, self.own, self.max_bytes = root, root / name, max_bytes
        self.layers, self.dim = layers, dim

    @reader
    def entries(self, wanted: Container[bytes], seen: set[str]) -> Iterator[tuple[bytes, "Entry"]]:
        """The wanted keys in files that `seen` does not name yet; damaged files are removed."""
        for path in sorted(self.own.glob("*.safetensors")):
            if path.name in seen:
                continue
            seen.add(path.name)
            try:
                yield from self._read(path, wanted)
            except DamagedFile:
                remove_damaged(path)
            except OSError:  # evicted by another process, or not readable for us
                continue

    def add(self, keys: Sequence[bytes], layers: Sequence[np.ndarray]) -> dict[bytes, "Entry"]:
        """Write a new file with layers [L, T, D] and their keys. Raises UserError without room or permission."""
        self.make_room(HEADER_BYTES + sum(ENTRY_BYTES + entry.nbytes for entry in layers))
        path = self.own / f"{uuid.uuid4().hex}.safetensors"
        arrays: dict[str, np.ndarray] = {
            "keys": np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES),
            "tokens": np.array([entry.shape[1] for entry in layers], dtype=np.int64),
            "checks": np.array(
                [xxh3_64_intdigest(each.data, seed=_seed(key)) for each, key in zip(layers, keys, strict=True)],
                dtype=np.uint64,
            ),
            "layers": np.concatenate([entry.ravel() for entry in layers]),
        }
        try:
            with atomic_write(path) as handle:
                save_file(arrays, handle.name)  # by name: `save` to bytes takes four times as long
            return dict(self._read(path, {*keys}))
        except (OSError, SafetensorError, DamagedFile) as error:
            raise UserError(f"{self.own}: layers cannot be stored ({error}).") from None

    def make_room(self, size: int) -> None:
        """Remove the least recently used files until `size` more bytes fit. Raises UserError if they never will."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            files = sorted(self._files())
            taken = sum(bytes_ for _, bytes_, _ in files)
            fits = False
            while size <= self._free() + taken:  # else nothing is removed in vain
                fits = size <= self._free() and size <= self.max_bytes - taken
                if fits or not files:
                    break
                _, bytes_, path = files.pop(0)
                path.unlink(missing_ok=True)
                taken -= bytes_
        except OSError as error:
            raise UserError(f"{self.root}: layers cannot be stored ({error.strerror or error}).") from None
        if not fits:
            free = self._free() / 1e9
            raise UserError(f"{self.root}: no room for {size / 1e9:.2f} GB of layers ({free:.2f} GB free).")

    def _free(self) -> int:
        return shutil.disk_usage(self.root).free - SPARE

    def _read(self, path: Path, wanted: Container[bytes]) -> Iterator[tuple[bytes, "Entry"]]:
        """The wanted keys and their entries in a file, which is mapped into memory: it stays readable after another
        process removes it (POSIX). Raises DamagedFile, or OSError if the file cannot be read."""
        try:
            with safe_open(path, framework="pt") as file:  # the framework that maps files instead of copying them
                keys, tokens, checks, numbers = (file.get_tensor(name) for name in NAMES)
        except SafetensorError as error:
            raise DamagedFile(path) from error
        except RuntimeError as error:  # torch cannot map it: it was removed, or too many files are mapped
            raise OSError(str(error)) from error
        count = tokens.numel()  # a single number has no length
        found = [(tensor.dtype, tuple(tensor.shape)) for tensor in (keys, tokens, checks)]
        if found != [(torch.uint8, (count, KEY_BYTES)), (torch.int64, (count,)), (torch.uint64, (count,))]:
            raise DamagedFile(path)
        ends = np.cumsum(tokens.numpy()) * self.layers * self.dim
        whole = tuple(numbers.shape) == (ends[-1:].sum(),) and numbers.dtype == torch.float32
        if tokens.numpy().min(initial=0) < 0 or not whole:
            raise DamagedFile(path)
        for row, length, end, check in zip(keys.numpy(), tokens.tolist(), ends.tolist(), checks.tolist(), strict=True):
            if (key := row.tobytes()) in wanted:
                layers = numbers[end - self.layers * length * self.dim : end]
                yield key, Entry(path, layers.view(self.layers, length, self.dim), _seed(key), check)

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        """(last used, bytes, path) of every encoder's files; an abandoned unfinished file counts as never used."""
        for path in self.root.glob("*/*.safetensors*"):
            with suppress(OSError):  # removed meanwhile
                status = path.stat()
                unfinished = path.name.startswith(".")
                if not unfinished or time.time() - status.st_mtime > ABANDONED:
                    yield 0 if unfinished else status.st_mtime_ns, status.st_size, path


class DamagedFile(Exception):
    """The file is not one that `StoreFolder.add` wrote."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The layers of one sentence in a file."""

    path: Path
    _layers: torch.Tensor  # [L, T, D], a view of the file
    _seed: int
    _check: int

    def read(self) -> torch.Tensor | None:
        """[L, T, D], a view of the file; None if its bytes are not those that were written under its key."""
        return self._layers if xxh3_64_intdigest(self._layers.numpy().data, seed=self._seed) == self._check else None


def remove_damaged(path: Path) -> None:
    """Remove a damaged file and print a message; nothing happens if it is gone already."""
    with suppress(OSError):
        path.unlink()
        console.print(f"{path} is damaged and was removed: its layers are computed again", highlight=False)


def _seed(key: bytes) -> int:
    return int.from_bytes(key[:8], "little")
