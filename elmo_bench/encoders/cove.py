"""The encoder kind `cove`: the biLSTMs of a translation model over GloVe vectors.

CoVe, McCann et al. 2017.

Source: `MTLSTM` of salesforce/cove, whose `wmtlstm-8f474287.pth` is the `state_dict()`
of `nn.LSTM(300, 300, num_layers=2, bidirectional=True)`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from elmo_bench.base.downloads import Content, changed
from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import reader, reading
from elmo_bench.elmo.batches import check_tokens
from elmo_bench.elmo.frozen import described, device_named, frozen
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.static import load_static, path_of
from elmo_bench.text.batch import by_length, pools

# At most, of a pool of sentences that go through the network together.
SIZE = 64
TOKENS = 4096
FILE = "wmtlstm-8f474287.pth"  # published by salesforce/cove
TENSORS = 8  # of a layer
STATE = "the state of a bidirectional LSTM"


class Cove:
    """CoVe as an `Encoder` (see `encoders/__init__.py`).

    Its layers are the outputs [forward; backward] of each biLSTM. The input of a word
    that the static vectors lack is zeros; upper and lower case differ.
    """

    def __init__(
        self, *, weights: str, inputs: str = "glove.840B.300d", device: str = "cpu"
    ):
        """`weights`: the file of the biLSTMs.

        `inputs`: static vectors, by name or path. Raises UserError.
        """
        path = Path(weights).expanduser()
        if not path.is_file():
            raise UserError(
                f"encoder.weights={weights}: no such file. Download CoVe's {FILE}, "
                "whose address is in cove/encoder.py of github.com/salesforce/cove, "
                "and give its path."
            )
        content = Content(path)
        self.files = [path, path_of(inputs)]
        self._inputs_checksum = Content(self.files[1]).sha256
        self.inputs = inputs
        self.device = device_named(device)
        self.lstms = read_lstms(path).to(self.device)
        content.check()
        self.checksum = f"{content.sha256} inputs {self._inputs_checksum[:12]}"
        first = self.lstms[0]
        assert isinstance(first, nn.LSTM)
        self.layers = len(self.lstms)
        self.dim = 2 * first.hidden_size
        self._width = first.input_size
        parameters = self.lstms.parameters()
        self.parameters = sum(parameter.numel() for parameter in parameters)
        self._vectors: dict[str, Tensor] = {}  # of the words that were expected

    def expect(self, words: Iterable[str]) -> None:
        """Read the static vectors of these words.

        `encode` reads the vectors of other words when it meets them.
        """
        new = {*words} - self._vectors.keys()
        # The words of a run are many. Those of later texts are few and always others.
        are_many = len(new) > len(self._vectors)
        table = load_static(self.inputs, new, cached=are_many)
        if table.checksum != self._inputs_checksum:
            raise changed(self.inputs)
        if table.dim != self._width:
            raise UserError(
                f"{self.inputs}: vectors of {table.dim} dimensions, but these biLSTMs "
                f"read {self._width}."
            )
        rows: dict[str, int] = {}
        for row, word in enumerate(table.words):
            rows.setdefault(word, row)  # the first of two rows wins
        vectors = torch.from_numpy(table.vectors)
        zeros = torch.zeros(self._width)
        for word in new:
            self._vectors[word] = vectors[rows[word]] if word in rows else zeros

    def __repr__(self) -> str:
        return described(self, f"{self.files[0]}, {self.inputs}")

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device."""
        sentences = check_tokens(sentences, "encode")
        new = set().union(*sentences) - self._vectors.keys()
        if new:
            self.expect(new)
        lengths = [len(sentence) for sentence in sentences]
        empty = torch.zeros(self.layers, 0, self.dim, device=self.device)
        results = [empty] * len(sentences)
        rows = [row for row in by_length(lengths) if lengths[row]]
        for pool in pools(rows, lengths, size=SIZE, tokens=TOKENS):
            encoded = self._pool([sentences[row] for row in pool])
            for row, layers in zip(pool, encoded, strict=True):
                results[row] = layers
        return results

    @frozen
    def _pool(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """[L, T, D] of sentences that are not empty."""
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        vectors = []
        for sentence in sentences:
            vectors.append(torch.stack([self._vectors[word] for word in sentence]))
        padded = pad_sequence(vectors, batch_first=True).to(self.device)  # BTE
        packed = pack_padded_sequence(
            padded, lengths, batch_first=True, enforce_sorted=False
        )
        outputs = []
        for lstm in self.lstms:
            packed, _ = lstm(packed)
            outputs.append(pad_packed_sequence(packed, batch_first=True)[0])  # BTD
        layers = torch.stack(outputs, dim=1)  # BLTD
        return [
            row[:, :length].clone()
            for row, length in zip(layers, lengths.tolist(), strict=True)
        ]


load: type[Encoder] = Cove


@reader
def read_lstms(path: Path) -> nn.ModuleList:
    """The layers of a bidirectional `nn.LSTM`, from its `state_dict()`.

    The file is what `torch.save` writes; no code in it runs. Numbers may be infinite or
    NaN. Raises UserError if the file is damaged or holds something else.
    """
    with reading(path, STATE, f"Give CoVe's {FILE}."):
        state = torch.load(path, map_location="cpu", weights_only=True)
        for name, tensor in state.items():
            _check_tensor(name, tensor)
        rows, width = state["weight_ih_l0"].shape
        hidden = rows // 4
        lstms = []
        for layer in range(math.ceil(len(state) / TENSORS)):
            lstms.append(_lstm(state, layer, 2 * hidden if layer else width, hidden))
    for lstm in lstms:
        lstm.flatten_parameters()
    return nn.ModuleList(lstms).eval().requires_grad_(False)


def _check_tensor(name: str, tensor: Any) -> None:
    """Raise ValueError for anything but floating-point numbers, all of them stored."""
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise ValueError(f"{name} is not an array of floating-point numbers")
    if not tensor.is_contiguous():  # a few bytes can declare terabytes
        raise ValueError(f"{name} is an array whose numbers are not one after another")


def _lstm(state: Mapping[str, Tensor], layer: int, width: int, hidden: int) -> nn.LSTM:
    """One layer, as an LSTM with one layer."""
    lstm = nn.LSTM(width, hidden, bidirectional=True, device="meta")
    weights = {}
    for name, tensor in state.items():
        if name.endswith((f"_l{layer}", f"_l{layer}_reverse")):
            weights[name.replace(f"_l{layer}", "_l0")] = tensor.float()
    lstm.load_state_dict(weights, assign=True)
    return lstm
