"""Reading and writing biLM weights: the published HDF5 layout, and the same arrays in safetensors, also as int8.

Sources of names and shapes: bilm-tf (`dump_weights` in `bilm/training.py`), AllenNLP 2.10.1 (`modules/elmo.py`).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np
import torch
from safetensors.numpy import save
from safetensors.torch import save as save_tensors
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.encoders.int8 import quantised, read_tensors


def places(bilm: BiLM) -> Iterator[tuple[str, Tensor]]:
    """Each published data set with a writable view of its parameter, in the file's shape."""
    characters = bilm.characters
    yield "char_embed", characters.embedding.data
    for index, convolution in enumerate(characters.convolutions):
        assert convolution.bias is not None
        yield f"CNN/W_cnn_{index}", convolution.weight.data.permute(2, 1, 0)[None]  # (1, width, char dim, filters)
        yield f"CNN/b_cnn_{index}", convolution.bias.data
    for index, highway in enumerate(characters.highways):
        for name, linear in (("carry", highway.carry), ("transform", highway.transform)):
            yield f"CNN_high_{index}/W_{name}", linear.weight.data.T
            yield f"CNN_high_{index}/b_{name}", linear.bias.data
    yield "CNN_proj/W_proj", characters.projection.weight.data.T
    yield "CNN_proj/b_proj", characters.projection.bias.data
    for direction in (0, 1):
        for layer, lstm in enumerate(bilm.lstms):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            yield f"{cell}/W_0", lstm.weight.data[direction]
            yield f"{cell}/B", lstm.bias.data[direction]
            yield f"{cell}/W_P_0", lstm.projection.data[direction]


def load(options: BiLMOptions, path: Path) -> BiLM:
    """A biLM, in evaluation mode and without gradients, from an HDF5 or safetensors file.

    Raises UserError if a data set is missing or its shape does not match the options.
    """
    with torch.device("meta"):
        bilm = BiLM(options)
    bilm = bilm.to_empty(device="cpu")
    arrays = _read(path)
    for name, view in places(bilm):
        if name not in arrays:
            raise UserError(
                f"{path}: the data set '{name}' is missing. Give the options.json that belongs to the weights."
            )
        array = arrays[name]
        if array.shape != tuple(view.shape):
            raise UserError(
                f"{path}: '{name}' has shape {array.shape}, the options.json expects {tuple(view.shape)}. "
                "Give the options that belong to the weights."
            )
        view.copy_(torch.from_numpy(array.astype(np.float32)))
    return bilm.eval().requires_grad_(False)


def save_safetensors(bilm: BiLM, path: Path, *, about: dict[str, Any], dtype: torch.dtype = torch.float16) -> None:
    """Write the published data sets, in `dtype` (int8 too), as a safetensors file with `about` as its metadata.

    The metadata is one key with JSON: safetensors writes several keys in random order, but equal weights should give
    equal files.
    """
    with atomic_write(path) as handle:
        write_safetensors(bilm, handle, about=about, dtype=dtype)


def write_safetensors(bilm: BiLM, file: IO[bytes], *, about: dict[str, Any], dtype: torch.dtype) -> None:
    """`save_safetensors` to an open file."""
    metadata = {"about": json.dumps(about, sort_keys=True)}
    if dtype == torch.int8:  # the last axis of the published arrays is the output
        file.write(save_tensors(quantised(dict(places(bilm)), axis=-1), metadata))
    else:
        file.write(save(dict(_arrays(bilm, dtype)), metadata))


def write_hdf5(bilm: BiLM, file: IO[bytes], *, dtype: torch.dtype) -> None:
    """Write the published data sets, in `dtype`, as HDF5 to a file that is open for reading and writing."""
    with h5py.File(file, "w") as out:
        for name, array in _arrays(bilm, dtype):
            out[name] = array


def _arrays(bilm: BiLM, dtype: torch.dtype) -> Iterator[tuple[str, np.ndarray]]:
    for name, view in places(bilm):
        array = view.to(dtype)
        if not bool(torch.isfinite(array).all()):
            raise UserError(
                f"'{name}' has values that {str(dtype).removeprefix('torch.')} cannot hold. Use --dtype float32."
            )
        yield name, np.ascontiguousarray(array.cpu().numpy())


def as_safetensors(path: Path, about: dict[str, Any]) -> bytes:
    """A weights file as the bytes of a safetensors file, in the same precision; a safetensors file is not changed.

    `about` is the metadata of a new file.
    """
    if path.suffix == ".safetensors":
        return path.read_bytes()
    arrays = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        for name, array in _read(path).items()
        if isinstance(array, np.ndarray) and array.dtype.kind == "f"
    }
    return save(arrays, {"about": json.dumps(about, sort_keys=True)})


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        if path.suffix == ".safetensors":
            return {name: tensor.numpy() for name, tensor in read_tensors(path).items()}
        arrays: dict[str, np.ndarray] = {}
        with h5py.File(path, "r") as file:  # arrays only: nothing in the file is executed
            file.visititems(
                lambda name, node: arrays.update({name: node[()]}) if isinstance(node, h5py.Dataset) else None
            )
        return arrays
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: not a readable HDF5 file ({error})") from None
