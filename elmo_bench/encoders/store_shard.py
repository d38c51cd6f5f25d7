"""One file of the layer store: the layers of some sentences, verified whenever they are read.

A safetensors file, written whole or not at all and never changed afterwards, so that readers need no lock. N entries:
  keys    uint8 [N, 16]  what the layers were computed from (see `features.py`)
  tokens  int64 [N]      T of each entry
  checks  uint64 [N]     xxh3 of the entry's bytes, seeded with its key, so that a swapped entry does not pass either
  layers  [numbers]      float32 or float16: the entries one after another, each [L, T, D]
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from xxhash import xxh3_64_intdigest

from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import console

KEY_BYTES = 16
NAMES = ("keys", "tokens", "checks", "layers")


class DamagedShard(Exception):
    """The file is not what `write_shard` wrote."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The layers of one sentence in a file."""

    path: Path
    _layers: np.ndarray  # [L, T, D], a view of the file
    _seed: int
    _check: int

    def read(self) -> np.ndarray | None:
        """[L, T, D], a view of the file; None where its bytes are not those that were written under its key."""
        return self._layers if _check(self._layers, self._seed) == self._check else None


def write_shard(path: Path, keys: Sequence[bytes], layers: Sequence[np.ndarray]) -> None:
    """Write layers [L, T, D], all of one L, D and dtype, each with its key. Raises UserError or OSError."""
    checks = [_check(entry, _seed(key)) for entry, key in zip(layers, keys, strict=True)]
    arrays: dict[str, np.ndarray] = {
        "keys": np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES),
        "tokens": np.array([entry.shape[1] for entry in layers], dtype=np.int64),
        "checks": np.array(checks, dtype=np.uint64),
        "layers": np.concatenate([entry.ravel() for entry in layers]),
    }
    with atomic_write(path) as handle:
        try:
            save_file(arrays, handle.name)  # by name: `save` to bytes takes four times as long
        except SafetensorError as error:  # a full disk, say
            raise OSError(str(error)) from error


def remove_damaged(path: Path) -> None:
    """Remove a file that holds damage, and say so; nothing where it is gone already."""
    with suppress(OSError):
        path.unlink()
        console.print(f"{path} is damaged and was removed: its layers are computed again", highlight=False)


class Shard:
    """A file of entries, mapped into memory; it may be removed meanwhile, what is mapped stays readable (POSIX)."""

    def __init__(self, path: Path, *, layers: int, dim: int, dtype: np.dtype):
        """Raises DamagedShard, or OSError where the file cannot be read."""
        self.path = path
        try:
            with safe_open(path, framework="pt") as file:  # of its frameworks the one that maps and does not copy
                keys, tokens, checks, numbers = (file.get_tensor(name).numpy() for name in NAMES)
        except SafetensorError as error:
            raise DamagedShard(path) from error
        except RuntimeError as error:  # torch cannot map it: gone meanwhile, or too many files are
            raise OSError(str(error)) from error
        count = len(tokens)
        found = [(array.dtype, array.shape) for array in (keys, tokens, checks)]
        if found != [(np.uint8, (count, KEY_BYTES)), (np.int64, (count,)), (np.uint64, (count,))]:
            raise DamagedShard(path)
        ends = np.cumsum(tokens) * layers * dim
        if tokens.min(initial=0) < 0 or numbers.shape != (ends[-1:].sum(),) or numbers.dtype != dtype:
            raise DamagedShard(path)
        self.keys = [key.tobytes() for key in keys]
        self._shape, self._tokens, self._ends = (layers, dim), tokens.tolist(), ends.tolist()
        self._checks, self._numbers = checks.tolist(), numbers

    def entry(self, number: int) -> Entry:
        """Entry `number`, for the sentence of `keys[number]`."""
        (layers, dim), tokens = self._shape, self._tokens[number]
        numbers = self._numbers[self._ends[number] - layers * tokens * dim : self._ends[number]]
        return Entry(self.path, numbers.reshape(layers, tokens, dim), _seed(self.keys[number]), self._checks[number])


def _seed(key: bytes) -> int:
    return int.from_bytes(key[:8], "little")


def _check(layers: np.ndarray, seed: int) -> int:
    return xxh3_64_intdigest(layers.data, seed=seed)
