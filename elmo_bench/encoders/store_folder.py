"""The folder of the layer store: one subfolder an encoder, many files in it (`store_shard.py`), a cap over all.

Processes share it without locks: a file appears whole under a name of its own, is never changed, and its time of change
says when it was last used. Two that compute the same layers at the same moment write them twice, which harms nothing.
Nothing here is ever needed: what is damaged or gone is computed again.
"""

import os
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.store_shard import KEY_BYTES, DamagedShard, Shard, remove_damaged, write_shard

SPARE = 10**9  # bytes that are left free on the disk
ENTRY_BYTES = KEY_BYTES + 16  # of an entry beside its layers
HEADER_BYTES = 512  # of a file beside its entries
ABANDONED = 600  # seconds after which a half-written file belongs to nobody


class StoreFolder:
    """The files of one encoder (`name`) in `root`, all of one L, D and dtype; `max_bytes` caps all encoders' files."""

    def __init__(self, root: Path, name: str, *, layers: int, dim: int, dtype: np.dtype, max_bytes: float):
        self.root, self.own, self.max_bytes = root, root / name, max_bytes
        self.layers, self.dim, self.dtype = layers, dim, dtype

    def shards(self, seen: set[str]) -> Iterator[Shard]:
        """The files whose names are not in `seen`, which grows; a damaged one is removed."""
        for path in sorted(self.own.glob("*.safetensors")):
            if path.name in seen:
                continue
            seen.add(path.name)
            try:
                yield self._open(path)
            except DamagedShard:
                remove_damaged(path)
            except OSError:  # evicted by another process, or not ours to read
                continue

    def add(self, keys: Sequence[bytes], layers: Sequence[np.ndarray]) -> Shard:
        """Write a new file. Raises UserError where there is no room, or no permission."""
        self.make_room(HEADER_BYTES + sum(ENTRY_BYTES + entry.nbytes for entry in layers))
        path = self.own / f"{uuid.uuid4().hex}.safetensors"
        try:
            write_shard(path, keys, layers)
            return self._open(path)
        except (OSError, DamagedShard) as error:
            raise UserError(f"{self.own}: layers cannot be kept here ({error})") from None

    def make_room(self, size: int) -> None:
        """Remove the least recently used files until `size` more bytes fit. Raises UserError where they never will."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            files = sorted(self._files())
            taken = sum(bytes_ for _, bytes_, _ in files)
            fits = False
            while size <= self._free() + taken:  # else nothing is removed for nothing
                fits = size <= self._free() and size <= self.max_bytes - taken
                if fits or not files:
                    break
                _, bytes_, path = files.pop(0)
                path.unlink(missing_ok=True)
                taken -= bytes_
        except OSError as error:
            raise UserError(f"{self.root}: layers cannot be kept here ({error.strerror or error})") from None
        if not fits:
            raise UserError(
                f"{self.root}: no room for {size / 1e9:.2f} GB of layers ({self._free() / 1e9:.2f} GB free)"
            )

    def touch(self, path: Path) -> None:
        """Note that a file was used now."""
        with suppress(OSError):
            os.utime(path)

    def _free(self) -> int:
        return shutil.disk_usage(self.root).free - SPARE

    def _open(self, path: Path) -> Shard:
        return Shard(path, layers=self.layers, dim=self.dim, dtype=self.dtype)

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        """(last used, bytes, path) of every encoder's files; what a kill left half-written counts as never used."""
        for path in self.root.glob("*/*.safetensors*"):
            with suppress(OSError):  # gone meanwhile
                status = path.stat()
                half = path.name.startswith(".")
                if not half or time.time() - status.st_mtime > ABANDONED:
                    yield 0 if half else status.st_mtime_ns, status.st_size, path
