"""Arrays in a safetensors file with a checksum.

safetensors notices only a wrong length. For caches and other files that are made again
if they are damaged.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xxhash
from safetensors import safe_open

from elmo_bench.base.files import atomic_write
from elmo_bench.base.reading import reader, reading
from elmo_bench.base.tensor_files import write_tensors


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], about: str = "") -> None:
    """Write arrays and a text about them, atomically.

    Raises UserError if the disk refuses.
    """
    # One key: safetensors writes several keys of metadata in any order.
    metadata = {"about": f"{_check(arrays, about)} {about}"}
    with atomic_write(path) as file:
        write_tensors(file, arrays, metadata)


@reader
def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], str]:
    """The arrays and the text of `write_arrays`, mapped into memory.

    Raises UserError for any other file.
    """
    arrays = {}
    with reading(path, "a sound file of arrays", "Remove it and start again."):
        with safe_open(path, framework="pt") as file:  # numpy's would copy
            for name in file.keys():  # noqa: SIM118  not a mapping
                arrays[name] = file.get_tensor(name).numpy()
            check, _, about = file.metadata()["about"].partition(" ")
        if check != _check(arrays, about):
            raise ValueError("its content has changed")
    return arrays, about


def _check(arrays: Mapping[str, np.ndarray], about: str) -> str:
    """xxh3 of names, types, shapes and numbers."""
    check = xxhash.xxh3_64(about.encode())
    for name, values in sorted(arrays.items()):
        check.update(f"{name} {values.dtype} {values.shape}".encode())
        check.update(np.ascontiguousarray(values).data)
    return check.hexdigest()
