"""One file of the layer store: the layers of some sentences, verified whenever they are read.

A safetensors file, written whole or not at all and never changed afterwards, so that readers need no lock. N entries:
  keys    uint8 [N, 16]  what the layers were computed from (see `features.py`)
  tokens  int64 [N]      T of each entry
  checks  uint64 [N]     xxh3 of the entry's bytes, seeded with its key, so that a swapped entry does not pass either
  layers  [numbers]      float32 or float16: the entries one after another, each [L, T, D]
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch import Tensor
from xxhash import xxh3_64_intdigest

from elmo_bench.files import atomic_write
from elmo_bench.progress import console

KEY_BYTES = 16


class DamagedShard(Exception):
    """The file is not what `write_shard` wrote."""


def write_shard(path: Path, keys: Sequence[bytes], layers: Sequence[Tensor]) -> None:
    """Write layers [L, T, D], all of one L, D and dtype, each with its key. Raises UserError or OSError."""
    entries = [entry.contiguous().numpy() for entry in layers]
    content = save(
        {
            "keys": np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES),
            "tokens": np.array([entry.shape[1] for entry in entries], dtype=np.int64),
            "checks": np.array([_check(entry, key) for entry, key in zip(entries, keys, strict=True)], dtype=np.uint64),
            "layers": np.concatenate([entry.ravel() for entry in entries]),
        }
    )
    with atomic_write(path) as handle:
        handle.write(content)


def remove_damaged(path: Path) -> None:
    """Remove a file that holds damage, and say so; nothing where it is gone already."""
    with suppress(OSError):
        path.unlink()
        console.print(f"{path} is damaged and was removed: its layers are computed again", highlight=False)


class Shard:
    """A file of entries, mapped into memory; it may be removed meanwhile, what is mapped stays readable (POSIX)."""

    def __init__(self, path: Path, *, layers: int, dim: int, dtype: torch.dtype):
        """Raises DamagedShard, or OSError where the file cannot be read."""
        self.path, self._layers, self._dim = path, layers, dim
        try:
            with safe_open(path, framework="pt") as file:
                keys, tokens, checks = (file.get_tensor(name).numpy() for name in ("keys", "tokens", "checks"))
                self._numbers = file.get_tensor("layers")
        except SafetensorError as error:
            raise DamagedShard(path) from error
        except RuntimeError as error:  # torch cannot map it: gone meanwhile, or too many files are
            raise OSError(str(error)) from error
        number = len(tokens)
        found = [(array.dtype, array.shape) for array in (keys, tokens, checks)]
        if found != [(np.uint8, (number, KEY_BYTES)), (np.int64, (number,)), (np.uint64, (number,))]:
            raise DamagedShard(path)
        ends = np.cumsum(tokens) * layers * dim
        if tokens.min(initial=0) < 0 or self._numbers.shape != (ends[-1:].sum(),) or self._numbers.dtype != dtype:
            raise DamagedShard(path)
        self.keys = [key.tobytes() for key in keys]
        self._ends, self._checks = ends.tolist(), checks.tolist()

    def read(self, number: int) -> Tensor | None:
        """Entry [L, T, D], a view of the file; None where its bytes are not those that were written under its key."""
        entry = self._numbers[self._ends[number - 1] if number else 0 : self._ends[number]]
        if _check(entry.numpy(), self.keys[number]) != self._checks[number]:
            return None
        return entry.view(self._layers, -1, self._dim)


def _check(entry: np.ndarray, key: bytes) -> int:
    return xxh3_64_intdigest(entry.data, seed=int.from_bytes(key[:8], "little"))
