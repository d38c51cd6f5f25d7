"""The encoder kind `flair`: character language models, forward and backward (Akbik et al. 2018).

Source: `LanguageModel` and `FlairEmbeddings` of flairNLP/flair. A sentence is its tokens with spaces between them. A
word's vector is the forward model's state after the space that follows it, and the backward model's, which reads the
sentence from its end, after the space before it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.elmo.frozen import frozen
from elmo_bench.encoders.protocol import Encoder
from elmo_bench.encoders.torch_pickle import Record, read_saved
from elmo_bench.text.pools import by_length, pools

SIZE, CHARACTERS = 64, 16_384  # at most, of a pool of sentences that go through the network together
CHUNK = 512  # characters at a time, so that memory does not grow with a sentence
DEEPEST = 8
MODEL = "a character language model of flair"
UNKNOWN = 0  # row of a character that the model does not know


class Flair:
    """Flair's embeddings as an `Encoder` (see protocol.py): one layer, [forward; backward]."""

    layers = 1

    def __init__(self, *, weights: str, device: str = "cpu"):
        """`weights`: a file for one direction alone, or a folder with a forward and a backward model."""
        path = Path(weights).expanduser()
        if not path.exists():
            raise UserError(f"encoder.weights={weights}: no such file or folder. Give a folder with flair's .pt files.")
        files = sorted(path.glob("*.pt")) if path.is_dir() else [path]
        models = {file: read_language_model(file) for file in files}
        files.sort(key=lambda file: not models[file].forwards)
        if [models[file].forwards for file in files] not in ([True], [False], [True, False]):
            raise UserError(
                f"encoder.weights={weights}: not one forward and one backward model. Give a folder of both."
            )
        self.files, self.models = files, [models[file].to(device) for file in files]
        self.device = torch.device(device)
        self.checksum = hashlib.sha256(" ".join(map(sha256_of, files)).encode()).hexdigest()
        self.dim = sum(model.dim for model in self.models)
        self.parameters = sum(parameter.numel() for model in self.models for parameter in model.network.parameters())

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [1, T, D] of each sentence, on the encoder's device."""
        lengths = [sum(map(len, sentence)) + len(sentence) for sentence in sentences]
        results = [torch.zeros(1, 0, self.dim, device=self.device) for _ in sentences]
        rows = [row for row in by_length(lengths) if sentences[row]]
        for pool in pools(rows, lengths, size=SIZE, tokens=CHARACTERS):
            parts = [model.vectors([sentences[row] for row in pool]) for model in self.models]
            for row, vectors in zip(pool, zip(*parts, strict=True), strict=True):
                results[row] = torch.cat(vectors, dim=1)[None]
        return results


load: type[Encoder] = Flair


@dataclass(frozen=True, eq=False)
class CharacterModel:
    """One direction. `network` has `encoder` (characters), `rnn` and perhaps `proj`."""

    network: nn.ModuleDict
    rows: dict[str, int]  # of characters
    start: str  # what a sentence starts with
    forwards: bool
    dim: int

    def to(self, device: str) -> "CharacterModel":
        """The model on this device."""
        self.network.to(device)
        return self

    @frozen
    def vectors(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """[T, D] of each sentence."""
        device = next(self.network.parameters()).device
        texts, places = zip(*map(self._text, sentences), strict=True)
        ids = torch.full((len(texts), max(map(len, texts))), UNKNOWN)  # BC
        for row, text in enumerate(texts):
            ids[row, : len(text)] = torch.tensor([self.rows.get(character, UNKNOWN) for character in text])
        results = [torch.zeros(len(sentence), self.dim, device=device) for sentence in sentences]
        state = None
        for begin in range(0, ids.shape[1], CHUNK):
            characters = self.network["encoder"](ids[:, begin : begin + CHUNK].to(device))  # BCE
            outputs, state = self.network["rnn"](characters, state)  # BCH
            if "proj" in self.network:
                outputs = self.network["proj"](outputs)
            for row, ends in enumerate(places):
                inside = (ends >= begin) & (ends < begin + CHUNK)
                results[row][inside.to(device)] = outputs[row, (ends[inside] - begin).to(device)]
        return results

    def _text(self, words: Sequence[str]) -> tuple[str, Tensor]:
        """What the model reads of a sentence, and for each word the position of its vector."""
        ends = torch.tensor([len(word) + 1 for word in words]).cumsum(0)  # of words and the spaces after them
        text = " ".join(words)
        if self.forwards:
            return f"{self.start}{text} ", len(self.start) + ends - 1
        before = torch.cat([torch.zeros(1, dtype=torch.long), ends[:-1]])
        return f"{self.start}{text[::-1]} ", len(self.start) + len(text) - before


@reader
def read_language_model(path: Path) -> CharacterModel:
    """A model as `LanguageModel.save` writes it. Its pickle is not run (torch_pickle.py). Raises UserError."""
    with reading(path, MODEL):
        saved = read_saved(path, MODEL)
        state, dictionary, depth = saved["state_dict"], saved["dictionary"], saved["nlayers"]
        start, forwards = saved.get("document_delimiter", "\n"), saved["is_forward_lm"]
        if str(saved.get("recurrent_type", "LSTM")).upper() != "LSTM":
            raise UserError(f"{path}: not an LSTM, which is all that is supported. Give another model.")
        if type(depth) is not int or not 0 < depth <= DEEPEST or not isinstance(start, str) or len(start) > CHUNK:
            raise ValueError(f"{depth} layers")
        found = {name: tensor for name, tensor in state.items() if not name.startswith("decoder.")}
        if not all(isinstance(tensor, Tensor) and tensor.is_floating_point() for tensor in found.values()):
            raise TypeError("its state is not arrays of floating-point numbers")
        network = _network(found, depth)
        if other := network.state_dict().keys() ^ found.keys():
            raise ValueError(f"{min(other)} is missing, or not expected")
        network.load_state_dict({name: tensor.float() for name, tensor in found.items()}, assign=True)
        rows = _rows(dictionary, len(found["encoder.weight"]))
    if not all(parameter.isfinite().all() for parameter in network.parameters()):
        raise UserError(f"{path}: a number is not finite. {AGAIN}")
    last = found.get("proj.weight", found["rnn.weight_hh_l0"])
    dim = last.shape[0] if "proj.weight" in found else last.shape[1]
    return CharacterModel(network.eval().requires_grad_(False), rows, start, bool(forwards), dim)


def _network(state: dict[str, Tensor], depth: int) -> nn.ModuleDict:
    """The network that these tensors fit, without memory."""
    characters, width = state["encoder.weight"].shape
    hidden = state["rnn.weight_hh_l0"].shape[1]
    with torch.device("meta"):
        parts: dict[str, nn.Module] = {
            "encoder": nn.Embedding(characters, width),
            "rnn": nn.LSTM(width, hidden, depth, batch_first=True),
        }
        if "proj.weight" in state:
            parts["proj"] = nn.Linear(hidden, state["proj.weight"].shape[0])
        return nn.ModuleDict(parts)


def _rows(dictionary: Any, count: int) -> dict[str, int]:
    """{character: row} of flair's dictionary, whose keys are UTF-8."""
    items = dictionary.attributes["item2idx"] if isinstance(dictionary, Record) else None
    if not isinstance(items, dict) or not all(type(row) is int and 0 <= row < count for row in items.values()):
        raise ValueError("its dictionary is not characters and rows")
    return {item.decode() if isinstance(item, bytes) else str(item): row for item, row in items.items()}
