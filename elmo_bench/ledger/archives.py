"""The arrays of an .npz file of a ledger, which may come from anybody."""

import io
import struct
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reader, reading

MAX_PACKED_BYTES = 2**23  # a million items of 300 types take 4 MiB
MAX_UNPACKED_BYTES = 2**26  # of all arrays of a file
# Of an .npy file: magic and version, length of the rest.
_HEADER = struct.Struct("<8sH")


@reader
def read_arrays(path: Path, advice: str = "") -> dict[str, np.ndarray]:
    """Arrays of whole numbers, by name. Raises UserError, which ends in the advice."""
    with reading(path, "the outcomes of a run", advice):
        return _arrays_in(path)


def _arrays_in(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file. Raises any kind of error for a damaged one."""
    with path.open("rb") as file:
        content = file.read(MAX_PACKED_BYTES + 1)
    if path.is_symlink() or len(content) > MAX_PACKED_BYTES:
        raise ValueError(f"a link, or larger than {MAX_PACKED_BYTES:,} bytes")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
            raise ValueError(
                f"unpacked, it is larger than {MAX_UNPACKED_BYTES:,} bytes"
            )
        arrays = {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            arrays[name] = _array(archive.read(entry))
    return arrays


def _array(content: bytes) -> np.ndarray:
    """The whole numbers of an .npy file of version 1.

    Several times faster than `np.load`, which parses each header anew. Raises
    ValueError.
    """
    if content[: _HEADER.size - 2] != np.lib.format.magic(1, 0):
        raise ValueError("not an array of version 1")
    _, length = _HEADER.unpack_from(content)
    start = _HEADER.size + length
    count, dtype = _shape(content[:start])
    array = np.frombuffer(content, dtype, offset=start)
    if len(array) != count:
        raise ValueError(f"{len(array):,} numbers, expected {count:,}")
    return array


@lru_cache(maxsize=10_000)
def _shape(head: bytes) -> tuple[int, np.dtype]:
    """How many numbers of which type there are, from the start of an .npy file."""
    file = io.BytesIO(head)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if len(shape) != 1 or dtype.kind not in "bui":
        raise ValueError("an array does not have a whole number for each example")
    return shape[0], dtype


def compact(outcomes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All in the smallest unsigned type that holds them.

    Raises UserError unless they are whole numbers from 0.
    """
    small = {}
    for name, values in outcomes.items():
        array = np.asarray(values)
        check_whole(name, array)
        if array.dtype.kind != "b":
            array = array.astype(np.min_scalar_type(array.max(initial=0)))
        small[name] = array
    return small


def check_whole(name: str, array: np.ndarray) -> None:
    """Raise UserError unless an array has whole numbers from 0."""
    if array.dtype.kind in "bu":
        return
    if array.dtype.kind != "i" or (array.size and array.min() < 0):
        raise UserError(
            f"outcomes '{name}' are not whole numbers from 0. "
            "Scale and round them first."
        )
