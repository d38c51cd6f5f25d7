"""Files of layers: a few hundred sentences of one encoder in each.

A file is named by its sentences, and appears atomically; its modification time is when
it was last used.

It is a safetensors file with one tensor, the layers float32 [L, T, D] of the sentences
one after another. Its metadata have an `index`, JSON: for each sentence its key
(`LayerStore._key`), the shape and a checksum of its numbers. A damaged file is removed,
and its layers are computed again.
"""

import json
import math
import os
import shutil
from collections.abc import Container, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor
from xxhash import xxh3_64_intdigest

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, disk_errors
from elmo_bench.base.json import parse_json
from elmo_bench.base.progress import console
from elmo_bench.base.reading import reader, reading
from elmo_bench.base.refusals import make_folder
from elmo_bench.base.tensor_files import write_header

KEY_BYTES = 16
# Names of folders; in a folder of the user's, other files are not ours.
HEX = "[0-9a-f]" * 2 * KEY_BYTES
NAMES = f"{HEX}.safetensors"
SPARE = 10**9  # bytes that are left free on the disk
FLOAT32 = np.dtype(np.float32)


@reader
def read_layers(path: Path, wanted: Container[str]) -> dict[str, Tensor]:
    """The layers of the wanted keys in a file.

    The file is mapped into memory, so that another process may remove it. A damaged
    file is removed; one that the system refuses to read stays.
    """
    layers: dict[str, Tensor] = {}
    try:
        # torch's framework maps files instead of copying them.
        with (
            reading(path, "layers of an encoder"),
            safe_open(path, framework="pt") as file,
        ):
            numbers = file.get_tensor("layers").view(torch.float32)
            end = 0
            for key, shape, check in parse_json(file.metadata()["index"], path):
                start = end
                end += math.prod(shape)
                if key in wanted:
                    layers[key] = numbers[start:end].view(shape)
                    if check != _check(key, layers[key].numpy()):
                        raise ValueError("its bytes have changed")
    except UserError as error:
        with suppress(OSError):
            _drop_damaged(path, error)
        return {}
    if layers:
        with suppress(OSError):
            os.utime(path)  # used now
    return layers


def _drop_damaged(path: Path, error: UserError) -> None:
    """Remove a damaged file, with a line. Raises OSError if there is none."""
    # safetensors has one kind of OSError, without a number.
    if isinstance(error.__context__, OSError):
        path.stat()
        why = "cannot be read"
    else:
        path.unlink()
        why = "is damaged and was removed"
    line = f"{path} {why}: its layers are computed again"
    console.print(line, highlight=False)


def write_layers(path: Path, layers: Mapping[str, Tensor], *, max_bytes: float) -> None:
    """Write layers [L, T, D] by key.

    The least recently used files in the folders next to the file's are removed, so that
    all have at most `max_bytes`. Raises UserError without room or permission.
    """
    size = sum(200 + tensor.nbytes for tensor in layers.values())
    with disk_errors(path):
        _make_room(path.parent.parent, size, max_bytes)
        with atomic_write(path) as handle:
            host = {key: tensor.cpu().numpy() for key, tensor in layers.items()}
            index = []
            for key, numbers in host.items():
                index.append([key, numbers.shape, _check(key, numbers)])
            count = sum(numbers.size for numbers in host.values())
            about = {"index": json.dumps(index)}
            write_header(handle, {"layers": (FLOAT32, (count,))}, about)
            for numbers in host.values():  # one by one, without a copy of them all
                handle.write(numbers.data)


def _make_room(root: Path, size: int, max_bytes: float) -> None:
    """Remove the least recently used files of layers, so that `size` bytes fit.

    Raises UserError without room.
    """
    make_folder(root)
    complete = root.glob(f"{HEX}/{NAMES}")
    unfinished = root.glob(f"{HEX}/.{NAMES}.*")
    files = []
    for file in (*complete, *unfinished):
        with suppress(OSError):  # removed meanwhile
            state = file.stat()
            files.append((state.st_mtime_ns, state.st_size, file))
    files.sort()
    taken = sum(file_size for _, file_size, _ in files)
    free = shutil.disk_usage(root).free - SPARE
    while free < size or taken + size > max_bytes:
        if not files or free + taken < size:  # nothing is removed in vain
            room = f"{(free + SPARE) / 1e9:.2f} GB free"
            raise UserError(
                f"{root}: no room for {size / 1e9:.2f} GB of layers: {room}, of which "
                f"{SPARE / 1e9:.0f} stay free."
            )
        _, file_size, oldest = files.pop(0)
        oldest.unlink(missing_ok=True)
        taken -= file_size
        free = shutil.disk_usage(root).free - SPARE


def _check(key: str, layers: np.ndarray) -> int:
    """xxh3 of the numbers, seeded with the key, so that a swapped entry fails."""
    return xxh3_64_intdigest(layers.data, seed=int(key[:16], 16))
