"""Writing safetensors files through an open file.

From version 0.8 on, `save_file` of safetensors writes to a file under another name and
renames it. It keeps neither the umask nor the lock of an unfinished file, and a kill
leaves a file that nothing counts or removes.

Source of the layout: https://huggingface.co/docs/safetensors, "Format".
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import IO

import numpy as np

# The types by their names in a file, in the order in which safetensors sorts tensors.
TYPES = {
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "float32": "F32",
    "uint32": "U32",
    "int32": "I32",
    "float16": "F16",
    "uint16": "U16",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
ORDER = {name: place for place, name in enumerate(TYPES)}
ALIGNMENT = 8  # bytes


def write_tensors(
    file: IO[bytes], arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> None:
    """Write the bytes that `safetensors.numpy.save` returns, without a copy of them.

    Raises KeyError for a type that is not in TYPES.
    """
    names = sorted(arrays, key=lambda name: (_rank(arrays[name].dtype), name))
    tensors = {name: (arrays[name].dtype, arrays[name].shape) for name in names}
    write_header(file, tensors, metadata)
    for name in names:
        dtype = arrays[name].dtype.newbyteorder("<")
        file.write(np.ascontiguousarray(arrays[name], dtype).data)


def write_header(
    file: IO[bytes],
    tensors: Mapping[str, tuple[np.dtype, Sequence[int]]],
    metadata: Mapping[str, str],
) -> None:
    """Write what precedes the numbers of tensors, given by type and shape.

    The numbers follow in this order, little-endian and without gaps. Wider types must
    come first, so that all numbers are aligned.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name, (dtype, shape) in tensors.items():
        start = end
        end += dtype.itemsize * math.prod(shape)
        header[name] = {
            "dtype": TYPES[dtype.name],
            "shape": [*shape],
            "data_offsets": [start, end],
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)


def _rank(dtype: np.dtype) -> int:
    return ORDER[dtype.name]
