"""The encoder kind `hf`: any frozen transformer that `transformers` can load, without remote code."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import sha256_of
from elmo_bench.base.json import read_json
from elmo_bench.base.progress import console
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.base.threads import parallel_map
from elmo_bench.elmo.frozen import frozen
from elmo_bench.elmo.hub import is_repository, repository
from elmo_bench.encoders.int8 import ENDING, read_tensors
from elmo_bench.encoders.protocol import Encoder
from elmo_bench.text.pools import by_length, pools

FILES = ("*.json", "*.safetensors", "*.txt", "*.model")  # configuration, weights, tokeniser
PICKLED = "pytorch_model*.bin"  # weights of old models, read with weights_only where there are no safetensors
POOLINGS = ("first", "last", "mean")
BYTES = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
SIZE, PIECES = 64, 4096  # at most, of a pool of texts that go through the network together
SHIPPED = {"bert-mini": Path(__file__).parents[1] / "weights" / "bert-mini"}
SPARE = 10**6  # numbers that a network may have that its files lack
ROOM = 2  # positions that some models (RoBERTa) number but never use


class Part(NamedTuple):
    """A sequence, or a part of one, that goes through the network at once."""

    ids: list[int]
    words: int  # how many it has
    chosen: list[tuple[int, int]]  # (position in `ids`, word): the pieces whose mean is the word's vector


class HfEncoder:
    """A transformer as an `Encoder` (see protocol.py).

    Its layers are the embeddings and the output of each block (of the encoder, in an encoder-decoder). A word's vector
    is the one of its first or last piece or their mean; a word without pieces, such as a control character, has zeros.
    A sequence longer than the model's limit is read in parts, split between words.
    """

    def __init__(self, *, weights: str, pooling: str | None = None, device: str = "cpu"):
        """`weights`: `bert-mini`, a folder as `save_pretrained` or `pretrain-masked` writes it, or `user/repo`,
        `user/repo@revision` or a bare name on the Hugging Face Hub. `pooling`: first, last or mean; None: last for a
        causal model, whose earlier pieces have not seen the rest of the word, else first. Raises UserError if the model
        cannot be loaded or `transformers` is not installed."""
        if pooling not in (None, *POOLINGS):
            raise UserError(f"encoder.contextual.pooling={pooling}: unknown. Choose one of: {', '.join(POOLINGS)}.")
        self.folder = _folder(weights)
        self.model, self.tokeniser = load_model(self.folder)
        self.model.eval().requires_grad_(False).to(device)
        self.device = torch.device(device)
        self.pooling = pooling or ("last" if self._is_causal() else "first")
        self.checksum = _checksum(self.folder) + ("" if self.pooling == "first" else f" {self.pooling}")
        positions = getattr(self.model.config, "max_position_embeddings", None) or -1
        positions = positions if positions > 0 else 10**9  # XLNet has -1, for no limit
        self.longest = min(self.tokeniser.model_max_length, positions - ROOM)
        self.parts = 0  # sequences that were read in parts so far

    @property
    def layers(self) -> int:
        return 1 + int(self.model.config.num_hidden_layers)

    @property
    def dim(self) -> int:
        return int(self.model.config.hidden_size)

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def files(self) -> list[Path]:
        return _files(self.folder)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device."""
        cut = [list(self._cut(list(sentence))) for sentence in sentences]
        read = iter(self._read([part for parts in cut for part in parts]))
        results = []
        for sentence, parts in zip(sentences, cut, strict=True):
            vectors = [next(read) for _ in parts] or [torch.zeros(self.layers, 0, self.dim, device=self.device)]
            results.append(torch.cat(vectors, dim=1))
            assert results[-1].shape == (self.layers, len(sentence), self.dim)
        return results

    @frozen
    def _is_causal(self) -> bool:
        """Whether the vector of a piece does not depend on the next one."""
        ids = torch.tensor([[1, 2, 3], [1, 2, 4]], device=self.device) % self.model.config.vocab_size
        output = self.model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
        one, other = output.hidden_states[-1][:, 1]
        return bool(torch.allclose(one, other, rtol=1e-5, atol=1e-6))

    def _cut(self, words: list[str]) -> Iterator[Part]:
        """Every part of a sequence; almost always one."""
        if not words:
            return
        coded = self.tokeniser(words, is_split_into_words=True)
        pieces = [0] * len(words)
        for word in coded.word_ids():
            if word is not None:
                pieces[word] += 1
        left = sum(pieces)
        room = self.longest - (len(coded["input_ids"]) - left)  # the others are markers
        start = 0
        while start < len(words):
            end = len(words)
            if left > room:
                self._say()
                # The last word of which a piece fits starts the next part, unless it is the only one.
                last, used = start, 0
                for word in range(start, len(words)):
                    if used >= room:
                        break
                    last, used = (word if pieces[word] else last), used + pieces[word]
                end = max(start + 1, last)
            coded = self.tokeniser(words[start:end], is_split_into_words=True, truncation=True, max_length=self.longest)
            pairs = [(piece, word) for piece, word in enumerate(coded.word_ids()) if word is not None]
            if self.pooling != "mean":
                by_word = {word: piece for piece, word in (pairs[::-1] if self.pooling == "first" else pairs)}
                pairs = [(piece, word) for word, piece in by_word.items()]
            yield Part(coded["input_ids"], end - start, pairs)
            left -= sum(pieces[start:end])
            start = end

    def _say(self) -> None:
        self.parts += 1
        if self.parts == 1:
            console.print(f"sequences of more than {self.longest} pieces are read in parts", highlight=False)

    def _read(self, texts: Sequence[Part]) -> list[Tensor]:
        """[L, T, D] of each part."""
        lengths = [len(text.ids) for text in texts]
        results: list[Tensor] = [torch.empty(0)] * len(texts)
        work = list(pools(by_length(lengths), lengths, size=SIZE, tokens=PIECES))
        each = parallel_map if self.device.type == "cpu" else map
        for pool, found in zip(work, each(lambda pool: self._pool([texts[row] for row in pool]), work), strict=True):
            for number, layers in zip(pool, found, strict=True):
                results[number] = layers
        return results

    @frozen
    def _pool(self, texts: Sequence[Part]) -> list[Tensor]:
        """[L, T, D] of each part, which go through the model together."""
        most, known = max(max(text.ids, default=0) for text in texts), self.model.config.vocab_size
        if most >= known:
            raise UserError(
                f"encoder.name={self.folder}: the tokeniser has a piece number {most}, but the model knows {known:,}. "
                "Save the tokeniser that the model was trained with."
            )
        ids = torch.zeros(len(texts), max(len(text.ids) for text in texts), dtype=torch.long)  # BP
        mask = torch.zeros_like(ids)  # BP
        for row, text in enumerate(texts):
            ids[row, : len(text.ids)] = torch.tensor(text.ids)
            mask[row, : len(text.ids)] = 1
        output = self.model(
            input_ids=ids.to(self.device), attention_mask=mask.to(self.device), output_hidden_states=True
        )
        layers = torch.stack(output.hidden_states, dim=1).float()  # BLPD
        results = []
        for row, text in enumerate(texts):
            pieces, words = torch.tensor(text.chosen, dtype=torch.long, device=self.device).view(-1, 2).T  # of N pieces
            sums = layers.new_zeros(layers.shape[1], text.words, layers.shape[3])  # LTD
            sums.index_add_(1, words, layers[row, :, pieces])
            results.append(sums / torch.bincount(words, minlength=text.words).clamp(min=1)[:, None])  # LTD
        return results


load: type[Encoder] = HfEncoder


def _folder(weights: str) -> Path:
    path = SHIPPED.get(weights) or Path(weights).expanduser()
    # A name without / is an old one of the Hub, such as bert-base-cased.
    if not path.is_dir() and ("/" not in weights.strip("/") or is_repository(weights)):
        path = repository(weights, also=FILES)
        if not _weights(path):
            path = repository(weights, also=(*FILES, PICKLED))
    if not (path / "config.json").is_file():
        raise UserError(
            f"encoder.name={weights}: no config.json there. Give a model's folder, or user/repo on the Hub."
        )
    if not _weights(path):
        raise UserError(f"encoder.name={weights}: no weights there. Save the model again with save_pretrained.")
    return path


def _weights(folder: Path) -> list[Path]:
    """The files with the weights: safetensors, or else pickled ones."""
    return sorted(folder.glob("*.safetensors")) or sorted(folder.glob(PICKLED))


def _files(folder: Path) -> list[Path]:
    """All files that loading may read."""
    return sorted({path for name in FILES for path in folder.glob(name) if path.is_file()} | {*_weights(folder)})


def _checksum(folder: Path) -> str:
    """SHA-256 of the names and contents of the files."""
    digest = hashlib.sha256()
    for path in _files(folder):
        digest.update(f"{path.name} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def _check_config(folder: Path) -> None:
    """Refuse a network that is too large to be built, whatever its weights hold. Raises UserError.

    A network has fewer layers than its files have bytes / 1000, and fewer numbers than they have bytes.
    """
    from transformers import AutoConfig, AutoModel

    path, size = folder / "config.json", sum(file.stat().st_size for file in _weights(folder))
    found = read_json(path)
    if not isinstance(found, dict) or any(
        "layers" in key and not _is_depth(value, size) for key, value in found.items()
    ):
        raise UserError(f"{path}: not the configuration of these weights. Save the model again with save_pretrained.")
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    with torch.device("meta"):
        numbers = AutoModel.from_config(config, trust_remote_code=False).num_parameters()
    if numbers > SPARE + 2 * size:  # a pooler may be missing
        raise UserError(f"{path}: {numbers:,} numbers, but the weights have {size:,} bytes. Save the model again.")


def _is_depth(value: Any, size: int) -> bool:
    return value is None or isinstance(value, (bool, str, list, dict)) or 0 <= value <= max(8, size / 1000)


@reader
def load_model(folder: Path) -> tuple[Any, Any]:
    """A folder's model and tokeniser. Raises UserError."""
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise UserError("encoder=hf: transformers is not installed. Run pip install 'elmo-bench[hf]'.") from None
    logging.getLogger("transformers").setLevel(logging.ERROR)
    given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with reading(folder, "a model that transformers can load"):
        _check_config(folder)
        tokeniser = AutoTokenizer.from_pretrained(folder, add_prefix_space=True, **given)
        if type(tokeniser).__name__ in BYTES:
            raise UserError(
                f"encoder.name={folder}: reads bytes or characters, and does not say which of them are a word. Give a "
                "model of word pieces with a fast tokeniser."
            )
        if packed := sorted(folder.glob(f"*{ENDING}")):
            model, about = _from_int8(folder, packed[0])
        else:
            model, about = AutoModel.from_pretrained(
                folder,
                use_safetensors=_weights(folder)[0].suffix == ".safetensors",
                weights_only=True,
                dtype=torch.float32,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                **given,
            )
    if len(tokeniser.get_vocab().keys() - {*tokeniser.all_special_tokens}) <= 1:  # what transformers makes up
        raise UserError(f"encoder.name={folder}: no tokeniser there. Save it with tokenizer.save_pretrained(folder).")
    if not tokeniser.is_fast:
        raise UserError(
            f"encoder.name={folder}: its tokeniser does not number words. Give a model with a fast tokeniser."
        )
    # transformers initialises missing weights at random; a pooler, and a decoder after an encoder, are not used.
    drawn = about["missing_keys"] | {key for key, *_ in about["mismatched_keys"]}
    unread = {"pooler", "decoder"} if model.config.is_encoder_decoder else {"pooler"}
    if lacking := sorted(key for key in drawn if not unread & set(key.split("."))):
        raise UserError(
            f"encoder.name={folder}: {len(lacking)} of the weights in config.json are missing in its files, or "
            f"have another size, such as {lacking[0]}. Save the model again with save_pretrained."
        )
    if wrong := sorted(name for name, values in model.named_parameters() if not values.isfinite().all()):
        raise UserError(f"{folder}: '{wrong[0]}' has numbers that are not finite. {AGAIN}")
    return (model.get_encoder() if model.config.is_encoder_decoder else model), tokeniser


def _from_int8(folder: Path, weights: Path) -> tuple[Any, dict[str, Any]]:
    """A model from `config.json` and an int8 file (`int8.py`), and the names that the file lacks."""
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model = AutoModel.from_config(config, trust_remote_code=False, dtype=torch.float32)
    prefix = f"{model.base_model_prefix}."
    found = {name.removeprefix(prefix): tensor for name, tensor in read_tensors(weights).items()}
    result = model.load_state_dict(found, strict=False)
    return model, {"missing_keys": set(result.missing_keys), "mismatched_keys": []}
