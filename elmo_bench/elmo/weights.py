"""Weights of a biLM: the published HDF5 layout, safetensors, and initial values.

The arrays are the same in safetensors, also as int8.

Sources of names and shapes: bilm-tf (`dump_weights` in `bilm/training.py`), AllenNLP
2.10.1 (`modules/elmo.py`).
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from elmo_bench.base.downloads import Content
from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import quantised, read_tensors
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.elmo.model import BiLM
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import joined, locate

# Deflate, the strongest filter of HDF5 itself, compresses at most 1:1032.
PACKED = 1100
PROJECTION = "/W_P_0"  # ends the name of an LSTM's projection


def places(bilm: BiLM) -> Iterator[tuple[str, Tensor]]:
    """Each published data set with a writable view of its parameter.

    The view has the file's shape.
    """
    characters = bilm.characters
    yield "char_embed", characters.embedding.data
    for index, convolution in enumerate(characters.convolutions):
        assert convolution.bias is not None
        weight = convolution.weight.data.permute(2, 1, 0)  # width, char dim, filters
        yield f"CNN/W_cnn_{index}", weight[None]
        yield f"CNN/b_cnn_{index}", convolution.bias.data
    for index, highway in enumerate(characters.highways):
        folder = f"CNN_high_{index}"
        yield f"{folder}/W_carry", highway.carry.weight.data.T
        yield f"{folder}/b_carry", highway.carry.bias.data
        yield f"{folder}/W_transform", highway.transform.weight.data.T
        yield f"{folder}/b_transform", highway.transform.bias.data
    yield "CNN_proj/W_proj", characters.projection.weight.data.T
    yield "CNN_proj/b_proj", characters.projection.bias.data
    for direction in (0, 1):
        for layer, lstm in enumerate(bilm.lstms):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            yield f"{cell}/W_0", lstm.weight.data[direction]
            yield f"{cell}/B", lstm.bias.data[direction]
            yield f"{cell}{PROJECTION}", lstm.projection.data[direction]


def load_bilm(weights: str, options: str | None = None) -> tuple[BiLM, str]:
    """The frozen biLM that `pretrained.locate` finds, and its checksum.

    Raises UserError.
    """
    return load_files(*locate(weights, options))


def load_files(options: Path, weights: Path) -> tuple[BiLM, str]:
    """The frozen biLM of two files, and its checksum (see `pretrained.checksum_of`).

    Raises UserError if the files do not belong together, or if one changes while it is
    read.
    """
    options_content = Content(options)
    weights_content = Content(weights)
    bilm = load(BiLMOptions.from_file(options), weights)
    options_content.check()
    weights_content.check()
    return bilm, joined(options_content, weights_content)


@reader
def load(options: BiLMOptions, path: Path) -> BiLM:
    """A biLM from an HDF5 or safetensors file.

    It is in evaluation mode and without gradients. Raises UserError if a data set is
    missing, its shape does not match the options, or a number is not finite.

    bilm-tf writes no projection where the LSTM is as wide as its output: the identity
    takes its place, which changes no number.
    """
    with torch.device("meta"):
        bilm = BiLM(options)
    arrays = _read(path, bilm)  # before memory is taken: what the file holds bounds it
    bilm = bilm.to_empty(device="cpu")
    for name, view in places(bilm):
        if name not in arrays:
            view.copy_(torch.eye(len(view)))
            continue
        with np.errstate(over="ignore"):  # float64 beyond float32 becomes infinity
            array = arrays.pop(name).astype(np.float32)
        if not np.isfinite(array).all():
            raise UserError(
                f"{path}: '{name}' has numbers that are not finite. {AGAIN}"
            )
        view.copy_(torch.from_numpy(array))
    return bilm.eval().requires_grad_(False)


def write_safetensors(
    bilm: BiLM, file: IO[bytes], *, about: dict[str, Any], dtype: torch.dtype
) -> None:
    """Write the published data sets, in `dtype` (int8 too), as a safetensors file.

    `about` is its metadata, one key with JSON: safetensors writes several keys in
    random order, but equal weights should give equal files. Raises UserError if the
    type cannot hold the numbers.
    """
    arrays = dict(places(bilm))
    tensors = quantised(arrays, dtype, axis=-1)  # the last axis is the output
    metadata = {"about": json.dumps(about, sort_keys=True)}
    file.write(save(tensors, metadata))


def write_hdf5(bilm: BiLM, file: IO[bytes]) -> None:
    """Write the published data sets as HDF5.

    The file is open for reading and writing.
    """
    with h5py.File(file, "w") as out:
        for name, view in places(bilm):
            out[name] = view.cpu().numpy()


def _read(path: Path, bilm: BiLM) -> dict[str, np.ndarray]:
    """The published data sets in the precision of the file.

    Without projections, if the LSTMs do not project. Raises UserError if a data set is
    missing or does not fit `bilm`.
    """
    if path.suffix == ".safetensors":
        return _read_safetensors(path, bilm)
    return _read_hdf5(path, bilm)


def _read_safetensors(path: Path, bilm: BiLM) -> dict[str, np.ndarray]:
    stored = {name: tensor.numpy() for name, tensor in read_tensors(path).items()}
    arrays = {}
    for name, view in _needed(bilm, stored, path):
        _check_shape(path, name, stored, view)
        arrays[name] = stored[name]
    return arrays


def _read_hdf5(path: Path, bilm: BiLM) -> dict[str, np.ndarray]:
    what = "a readable HDF5 file"
    arrays = {}
    # Nothing in the file is executed. Disks of a network may have no locks.
    with reading(path, what), h5py.File(path, "r", locking=False) as file:
        sets = {}
        for name, _ in places(bilm):
            if is_inside(file, name):
                sets[name] = file.get(name, getlink=False)
        for name, view in _needed(bilm, sets, path):
            _check_shape(path, name, sets, view)
            arrays[name] = array_of(path, sets[name])
    return arrays


def _needed(
    bilm: BiLM, arrays: Mapping[str, Any], path: Path
) -> list[tuple[str, Tensor]]:
    """The data sets that a file of this biLM has, with their views.

    bilm-tf makes no projection if `projection_dim` is the LSTM's `dim`. It then ignores
    `proj_clip`, which changes nothing from 1 on, since outputs are below 1. Raises
    UserError for such a file with a smaller clip.
    """
    named_views = [*places(bilm)]
    options = bilm.options
    has_projection = any(name.endswith(PROJECTION) for name in arrays)
    if has_projection or options.lstm_dim != options.projection_dim:
        return named_views
    if options.projection_clip < 1:
        raise UserError(
            f"{path}: has no projections ({PROJECTION}), to which bilm-tf applies "
            f"proj_clip={options.projection_clip:g} of the options. Give 1 or more."
        )
    return [pair for pair in named_views if not pair[0].endswith(PROJECTION)]


def _check_shape(
    path: Path, name: str, arrays: Mapping[str, Any], view: Tensor
) -> None:
    """Raise UserError if the array is missing or has another shape than `view`."""
    if name not in arrays:
        raise UserError(
            f"{path}: no data set '{name}'. Links are not followed; give the "
            "options.json that belongs to the weights."
        )
    shape = getattr(arrays[name], "shape", None)
    wanted = tuple(view.shape)
    if shape != wanted:
        raise UserError(
            f"{path}: '{name}' has shape {shape}, the options.json expects {wanted}. "
            "Give the options that belong to the weights."
        )


def is_inside(file: h5py.File, name: str) -> bool:
    """Whether the file has this name and no link on the way leads to another file."""
    parts = name.split("/")
    for end in range(1, len(parts) + 1):
        link = file.get("/".join(parts[:end]), getlink=True)
        if not isinstance(link, h5py.HardLink):
            return False
    return True


def array_of(path: Path, data: Any) -> np.ndarray:
    """The numbers of a data set, which the file itself must hold.

    A few bytes can declare terabytes. Raises UserError if it does not hold them.
    """
    if not isinstance(data, h5py.Dataset) or data.dtype.kind != "f":
        raise UserError(
            f"{path}: '{data.name}' does not hold floating-point numbers. {AGAIN}"
        )
    stored = min(data.id.get_storage_size(), path.stat().st_size)
    most = stored * PACKED if data.chunks else stored
    if data.is_virtual or data.external or data.nbytes > most:
        raise UserError(
            f"{path}: the file does not hold the numbers of '{data.name}'. {AGAIN}"
        )
    return data[()]


def initialise(bilm: BiLM) -> None:
    """Set bilm-tf's initial values (`bilm/training.py`).

    Uniform characters, carry bias -2, Glorot uniform LSTMs.
    """
    characters = bilm.characters
    nn.init.uniform_(characters.embedding, -1, 1)
    for convolution in characters.convolutions:
        assert convolution.bias is not None
        nn.init.uniform_(convolution.weight, -0.05, 0.05)
        nn.init.zeros_(convolution.bias)
    for highway in characters.highways:
        _initialise_linear(highway.carry, bias=-2.0)
        _initialise_linear(highway.transform, bias=0.0)
    _initialise_linear(characters.projection, bias=0.0)
    for lstm in bilm.lstms:
        nn.init.zeros_(lstm.bias)
        for stacked in (lstm.weight, lstm.projection):
            for direction in stacked:
                nn.init.xavier_uniform_(direction)


def _initialise_linear(linear: nn.Linear, *, bias: float) -> None:
    nn.init.normal_(linear.weight, std=1 / math.sqrt(linear.in_features))
    nn.init.constant_(linear.bias, bias)


def untrained(options: BiLMOptions, *, seed: int) -> tuple[BiLM, str]:
    """A frozen biLM with initial values of a seed, and the SHA-256 of its numbers."""
    with torch.random.fork_rng(devices=[]):
        bilm = BiLM(options)
        torch.default_generator.manual_seed(seed)  # no GPU's generator
        initialise(bilm)
    digest = hashlib.sha256()
    for parameter in bilm.requires_grad_(False).parameters():
        digest.update(parameter.numpy().data)
    return bilm, digest.hexdigest()
