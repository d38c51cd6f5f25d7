"""The encoder kind `precomputed`: layers that any program wrote, by sentence.

The program wrote them to HDF5 or safetensors. A file has a tensor for each sentence, of
shape [L, T, D], or [T, D] for one layer, under any name, and `sentence_to_index`: JSON
that maps each sentence, its tokens separated by spaces, to the name of its tensor.
White space inside a token may be escaped as in `elmo_bench/text/columns.py`. In HDF5
the JSON is a data set with one text, in safetensors an entry of the metadata.
`elmo-bench embed` and the command `elmo` of AllenNLP 0.9 write such HDF5 files. Several
files may be in one folder.
"""

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import torch
from safetensors import safe_open
from torch import Tensor

from elmo_bench.base.downloads import Content
from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import FLOATS
from elmo_bench.base.json import parse_json
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.elmo.batches import check_tokens
from elmo_bench.elmo.embed import INDEX
from elmo_bench.elmo.frozen import described, device_named
from elmo_bench.elmo.weights import array_of, is_inside
from elmo_bench.encoders import Encoder
from elmo_bench.text.columns import cells_of, line_of, tokens_of, unescaped

HDF5 = (".h5", ".hdf5")
ENDINGS = (*HDF5, ".safetensors")


class Precomputed:
    """Layers in files as an `Encoder` (see `encoders/__init__.py`).

    A sentence that no file has is a UserError.
    """

    parameters = 0

    def __init__(self, *, weights: str, device: str = "cpu"):
        """`weights`: an HDF5 or safetensors file, or a folder of them.

        The first sentence's layers set L and D.
        """
        self.files = _paths(Path(weights).expanduser())
        self._contents = {path: Content(path) for path in self.files}
        opened = [open_layers(path) for path in self.files]
        self.where = weights
        self.device = device_named(device)
        joined = " ".join(content.sha256 for content in self._contents.values())
        self.checksum = hashlib.sha256(joined.encode()).hexdigest()
        self._places: dict[str, tuple[LayerFile, str]] = {}
        # White space other than a space may be inside a token, or separate tokens as in
        # a text that `embed` read.
        for tokens in (_unescaped_cells, tokens_of):
            for file in opened:
                for sentence, name in file.index.items():
                    self._places.setdefault(line_of(tokens(sentence)), (file, name))
        self._places.pop("", None)
        if not self._places:
            raise UserError(f"{weights}: no sentences. {AGAIN}")
        file, name = next(iter(self._places.values()))
        self.layers, _, self.dim = file.read(name).shape

    def __repr__(self) -> str:
        return described(self, self.where)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device.

        Raises UserError if a sentence is missing, and if a file has changed since the
        encoder was loaded.
        """
        sentences = check_tokens(sentences, "encode")
        keys = [line_of(sentence) for sentence in sentences]
        self._check(keys)
        layers = []
        for sentence, key in zip(sentences, keys, strict=True):
            layers.append(self._read(sentence, key))
        for path in {self._places[key][0].path for key in keys if key}:
            self._contents[path].check()
        return layers

    def check_texts(self, sentences: Iterable[Sequence[str]]) -> None:
        """Raise UserError if a sentence is missing: which, and how many of these."""
        self._check([line_of(sentence) for sentence in sentences])

    def _check(self, keys: Sequence[str]) -> None:
        missing = [key for key in keys if key and key not in self._places]
        if missing:
            raise UserError(
                f"{self.where}: no layers for the sentence '{missing[0]:.300}' "
                f"({len(missing):,} of {len(keys):,} are missing). Add the layers of "
                "all texts that `elmo-bench texts` writes for this task."
            )

    def _read(self, sentence: Sequence[str], key: str) -> Tensor:
        if not sentence:
            return torch.zeros(self.layers, 0, self.dim, device=self.device)
        file, name = self._places[key]
        layers = file.read(name)
        wanted = (self.layers, len(sentence), self.dim)
        if layers.shape != wanted:
            raise UserError(
                f"{file.path}: '{name:.100}' has the shape {list(layers.shape)}, but "
                f"the sentence '{key:.300}' needs {list(wanted)} (layers, tokens, "
                "dimensions). Give one vector for each token."
            )
        return layers.to(self.device)


load: type[Encoder] = Precomputed


@reader
def open_layers(path: Path) -> "LayerFile":
    """A file of layers. Raises UserError if it is damaged or has no index."""
    with reading(path, "a file of layers"):
        return LayerFile(path)


class LayerFile:
    """Layers in HDF5 or safetensors. The file stays open.

    `index`: sentences to names.
    """

    def __init__(self, path: Path):
        self.path = path
        self._tensor: Callable[[str], Tensor]
        if path.suffix in HDF5:
            # Disks of a network may have no locks, and a file is only read.
            file = h5py.File(path, "r", locking=False)
            text: Any = _text(path, file[INDEX]) if is_inside(file, INDEX) else None
            self._tensor = partial(_data_set, path, file)
        else:
            opened: Any = safe_open(path, framework="pt")
            text = (opened.metadata() or {}).get(INDEX)
            self._tensor = opened.get_tensor
        if text is None:
            raise UserError(
                f"{path}: no {INDEX}. Write it for at most 100,000 sentences to a "
                "file, and several to a folder."
            )
        index = parse_json(text, f"{path}: {INDEX}")
        if not isinstance(index, dict) or not all(map(_is_name, index.values())):
            raise UserError(
                f"{path}: {INDEX} is not a mapping from sentences to names. {AGAIN}"
            )
        self.index = {sentence: str(name) for sentence, name in index.items()}

    def read(self, name: str) -> Tensor:
        """float32 [L, T, D] under this name. Raises UserError."""
        where = f"{self.path}: '{name:.100}'"
        with reading(self.path, "a file of layers"):
            layers = self._tensor(name)
        if not _has_layers(layers):
            shape = f"{layers.dtype} {[*layers.shape]}"
            raise UserError(
                f"{where} is {shape}, expected numbers of layers x tokens x dimensions."
            )
        layers = layers.float()  # float64 beyond float32 becomes infinity
        if not layers.isfinite().all():
            raise UserError(f"{where} has numbers that are not finite. {AGAIN}")
        return layers if layers.ndim == 3 else layers[None]


def _unescaped_cells(text: str) -> Iterator[str]:
    """The tokens of a line in which white space inside a token is escaped."""
    return map(unescaped, cells_of(text))


def _is_name(name: object) -> bool:
    return type(name) in (str, int) and name != ""


def _has_layers(tensor: Tensor) -> bool:
    """Whether a tensor has floating-point numbers and the dimensions of layers."""
    if tensor.dtype not in FLOATS or tensor.ndim not in (2, 3):
        return False
    return tensor.shape[0] != 0 and tensor.shape[-1] != 0


def _data_set(path: Path, file: h5py.File, name: str) -> Tensor:
    if not is_inside(file, name):
        raise UserError(
            f"{path}: '{name:.100}' is in {INDEX}, but not in the file. {AGAIN}"
        )
    array = array_of(path, file[name])
    in_order = array.dtype.newbyteorder("=")  # some tools write big-endian numbers
    return torch.from_numpy(array.astype(in_order, copy=False))


def _text(path: Path, data: Any) -> bytes:
    """The text of a data set with one text.

    The library may never return from a damaged text of variable length, so its place,
    in a "global heap" (HDF5 file format specification, III.E), is looked up here.
    """
    text = None
    if isinstance(data, h5py.Dataset) and data.size == 1:
        text = h5py.check_string_dtype(data.dtype)
    if text is None:
        raise ValueError(f"{INDEX} is not one text")
    if text.length is not None:
        if data.nbytes > path.stat().st_size:
            raise ValueError("the file does not hold its text")
        return bytes(data[()] if data.shape == () else data[0])
    start = data.id.get_offset()
    if start is None:
        raise UserError(
            f"{path}: {INDEX} is in chunks or compressed. Write it as one text without."
        )
    with path.open("rb") as file:
        file.seek(start)
        length, address, number = struct.unpack("<IQI", file.read(16))
        file.seek(address)
        signature, size = struct.unpack("<4s4xQ", file.read(16))
        if signature != b"GCOL" or size > path.stat().st_size:
            raise ValueError("its text is not there")
        heap = file.read(size - 16)
    return _of_heap(heap, number, length)


def _of_heap(heap: bytes, wanted: int, length: int) -> bytes:
    """The first `length` bytes of an object in a global heap, by its number."""
    place = 0
    while place + 16 <= len(heap):
        index, size = struct.unpack_from("<H6xQ", heap, place)
        place += 16
        if index == wanted and length <= size and place + length <= len(heap):
            return heap[place : place + length]
        place += -(-size // 8) * 8
    raise ValueError("its text is not there")


def _paths(path: Path) -> list[Path]:
    """The files of layers that a path names. Raises UserError if there are none."""
    files: list[Path] = []
    if path.is_dir():
        files = sorted(path.iterdir())
    elif path.is_file():
        files = [path]
    paths = [file for file in files if file.suffix in ENDINGS]
    if not paths:
        raise UserError(
            f"encoder.name={path}: no layers there. "
            f"Give a file ({', '.join(ENDINGS)}) or their folder."
        )
    return paths
