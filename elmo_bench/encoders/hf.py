"""The encoder kind `hf`: any frozen transformer that `transformers` can load, without remote code."""

import logging
import os
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.int8 import ENDING, read_tensors
from elmo_bench.base.json import read_json
from elmo_bench.base.machine import parallel_map
from elmo_bench.base.progress import console
from elmo_bench.base.reading import AGAIN, reader, reading
from elmo_bench.elmo.batches import check_tokens
from elmo_bench.elmo.frozen import described, device_named, frozen, moved, multiplies_bfloat16
from elmo_bench.encoders import Encoder
from elmo_bench.encoders.checks import TEXTS, check_encoder, is_close
from elmo_bench.encoders.hf_files import PACKAGES, checksum, files_of, find, only_files, weights_of
from elmo_bench.encoders.hf_tokenisers import load_tokeniser
from elmo_bench.encoders.hf_words import OUTSIDE, UNLIMITED, Part, Pieces
from elmo_bench.text.batch import by_length, pools

POOLINGS = ("first", "last", "mean")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CPU_POOL, GPU_POOL = (64, 4096), (512, 16384)  # texts and pieces, at most, that go through the network together
SPARE = 10**6  # numbers that a network may have that its files lack
LIMITS = ("max_position_embeddings", "max_encoder_position_embeddings", "max_seq_len")  # of BERT and most, LED, MPT
ROOM = 2  # positions that some models (RoBERTa) number but never use


class HfEncoder:
    """A transformer as an `Encoder` (see `encoders/__init__.py`).

    Its layers are the embeddings and the output of each block (of the encoder, in an encoder-decoder). A word's vector
    is the one of its first or last piece or their mean; a word without pieces, such as a control character, has zeros.
    A sequence longer than the model's limit is read in parts, split between words. The checksum is of the files and of
    the pieces of a few texts, which follow from the files and from `packages`.
    """

    packages = PACKAGES

    def __init__(self, *, weights: str, pooling: str | None = None, precision: str | None = None, device: str = "cpu"):
        """`weights`: `bert-mini`, `all-MiniLM-L6-v2`, a folder as `save_pretrained` writes it, or
        `user/repo`, `user/repo@revision` or a bare name on the Hugging Face Hub. `pooling`: first, last or mean; None:
        last for a causal model, whose earlier pieces have not seen the rest of the word, else first. `precision` of the
        network: float32 (None), or bfloat16, which pays on a GPU. Raises UserError if the model cannot be loaded or
        `transformers` is not installed."""
        if pooling not in (None, *POOLINGS):
            raise UserError(f"encoder.contextual.pooling={pooling}: unknown. Choose one of: {', '.join(POOLINGS)}.")
        precision = precision or "float32"
        if precision not in PRECISIONS:
            raise UserError(f"encoder.contextual.precision={precision}: unknown. Choose float32 or bfloat16.")
        self.folder = find(weights)
        self.files = files_of(self.folder)
        self.checksum = checksum(weights, self.folder)
        self.model, self.tokeniser = load_model(self.folder)
        self.device, self.name = device_named(device), weights
        on_gpu = self.device.type == "cuda"
        if on_gpu and precision != "float32" and not multiplies_bfloat16(self.device):
            card = torch.cuda.get_device_name(self.device)
            raise UserError(f"encoder.contextual.precision={precision}: {card} cannot multiply in it. Choose float32.")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if on_gpu else "false")  # a GPU would wait for one core
        self.model.eval().requires_grad_(False).to(self.device, PRECISIONS[precision])
        with reading(weights, "a transformer with layers of one width", ""):
            self.layers, self.dim = 1 + int(self.model.config.num_hidden_layers), int(self.model.config.hidden_size)
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.words = Pieces(self.tokeniser, name=weights)
        self.checksum += f" pieces {self.words.digest()}"
        positions = [getattr(self.model.config, limit, None) or -1 for limit in LIMITS]  # XLNet has -1, for no limit
        known = min((number for number in positions if number > 0), default=UNLIMITED)
        self.longest = min(self.tokeniser.model_max_length, known - ROOM)
        if self.longest <= self.words.markers:
            raise UserError(f"encoder.name={weights}: reads {self.longest} pieces at most, so no word. {AGAIN}")
        self.size, self.tokens = GPU_POOL if on_gpu else CPU_POOL
        self.parts = 0  # sequences that were read in parts so far
        with reading(weights, "a transformer that reads a sentence alone and among others", ""):
            self.pooling = pooling or ("last" if self._is_causal() else "first")
            self._check(weights, slack=1e-4 if precision == "float32" else 0.05)
        more = {self.pooling, precision} - {"first", "float32"}
        self.checksum += "".join(f" {each}" for each in sorted(more))

    def __repr__(self) -> str:
        return described(self, self.name)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device. Results share memory, as `ElmoEncoder`'s do."""
        sentences = check_tokens(sentences, "encode")
        cut = self.words.parts(sentences, longest=self.longest)
        if long := sum(len(parts) > 1 for parts in cut):
            if not self.parts:
                console.print(f"sequences of more than {self.longest} pieces are read in parts", highlight=False)
            self.parts += long
        read = iter(self._read([part for parts in cut for part in parts]))
        found = [[next(read) for _ in parts] or [self._zeros(0)] for parts in cut]
        return [torch.cat(parts, dim=1) if len(parts) > 1 else parts[0] for parts in found]

    @frozen
    def _is_causal(self) -> bool:
        """Whether the vector of a piece does not depend on the next one."""
        ids = torch.tensor([[1, 2, 3], [1, 2, 4]], device=self.device) % self.model.config.vocab_size
        one, other = self._forward(ids, torch.ones_like(ids))[-1][:, 1]
        return bool(torch.allclose(one, other, rtol=1e-5, atol=1e-6))

    def _check(self, name: str, *, slack: float) -> None:
        """Read a few tiny texts, and a long one; vectors are equal within `slack`. Raises UserError.

        Models that mix the padding of a call into their vectors (FNet, YOSO, Nystromformer, ConvBERT) read one sentence
        at a time.
        """
        [alone], [together, *_] = self.encode(TEXTS[:1]), self.encode(TEXTS)
        if not is_close(alone, together, slack=slack):
            self.size = 1
            console.print(f"{name}: vectors depend on the other sentences, so it reads one at a time", highlight=False)
        check_encoder(self, name=f"encoder.name={name}", slack=slack)
        ids = torch.ones(1, min(self.longest, CPU_POOL[1] // 8), dtype=torch.long, device=self.device)
        frozen(self._forward)(ids, torch.ones_like(ids))  # it is not longer than the network can read

    def _forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """The layers of `ids` [B, P], each [B, P, D]. Raises UserError if the network cannot read so many pieces."""
        try:
            layers: tuple[Tensor, ...] = self.model(
                input_ids=ids, attention_mask=mask, output_hidden_states=True
            ).hidden_states
        except torch.OutOfMemoryError:
            raise
        except (IndexError, RuntimeError) as error:
            raise UserError(
                f"encoder.name={self.folder}: cannot read {ids.shape[1]} pieces at once "
                f"({str(error).splitlines()[0]:.100}). If it reads fewer, give their number as model_max_length in its "
                "tokenizer_config.json."
            ) from None
        return layers

    def _zeros(self, words: int) -> Tensor:
        return torch.zeros(self.layers, words, self.dim, device=self.device)

    @frozen
    def _read(self, texts: Sequence[Part]) -> list[Tensor]:
        """[L, T, D] of each part; zeros where no word has a piece, which some models could not read."""
        rows = [row for row, text in enumerate(texts) if max(text.owners, default=OUTSIDE) != OUTSIDE]
        none, read = self._zeros(0), {*rows}
        results = [none if row in read else self._zeros(text.words) for row, text in enumerate(texts)]
        lengths = [len(texts[row].ids) for row in rows]
        cut = pools(by_length(lengths), lengths, size=self.size, tokens=self.tokens)
        work = [[rows[number] for number in pool] for pool in cut]
        each = parallel_map if self.device.type == "cpu" else map
        for pool, of_pool in zip(work, each(lambda pool: self._pool([texts[row] for row in pool]), work), strict=True):
            for row, layers in zip(pool, of_pool, strict=True):
                results[row] = layers
        return results

    @frozen
    def _pool(self, texts: Sequence[Part]) -> list[Tensor]:
        """[L, T, D] of each part, which go through the model together."""
        most, known = max(max(text.ids) for text in texts), self.model.config.vocab_size
        if most >= known:
            raise UserError(
                f"encoder.name={self.folder}: the tokeniser has a piece number {most}, but the model knows {known:,}. "
                "Save the tokeniser that the model was trained with."
            )
        lengths, counts = [len(text.ids) for text in texts], [text.words for text in texts]
        inside = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]  # BP
        ids = torch.zeros(inside.shape, dtype=torch.long)
        ids[inside] = _flat(text.ids for text in texts)
        owners = _flat(text.owners for text in texts)
        starts = torch.tensor([0, *accumulate(counts)]).repeat_interleave(torch.tensor([*lengths, 0]))
        words, places = (owners + starts)[owners != OUTSIDE], inside.flatten().nonzero()[:, 0][owners != OUTSIDE]
        if self.pooling != "mean":  # a word's pieces are neighbours
            edge = torch.tensor([OUTSIDE])
            kept = words.diff(prepend=edge) != 0 if self.pooling == "first" else words.diff(append=edge) != 0
            words, places = words[kept], places[kept]
        sizes = torch.bincount(words, minlength=sum(counts)).clamp(min=1)
        ids, mask, words, places, sizes = moved(self.device, ids, inside.long(), words, places, sizes)
        layers = [functional.embedding(places, layer.flatten(0, 1)) for layer in self._forward(ids, mask)]
        chosen = torch.stack(layers, dim=1).float()  # of N pieces, [N, L, D]
        sums = chosen.new_zeros(len(sizes), *chosen.shape[1:]).index_add_(0, words, chosen)
        return [part.transpose(0, 1) for part in (sums / sizes[:, None, None]).split(counts)]  # LTD


load: type[Encoder] = HfEncoder


def _flat(lists: Iterable[Sequence[int]]) -> Tensor:
    """The numbers of all lists, int64."""
    return torch.from_numpy(np.fromiter(chain.from_iterable(lists), np.int64))


def _config(folder: Path) -> Any:
    """The configuration of a model, with sdpa attention, or eager where it has no other.

    What `config.json` says of attention is not used, since it may name a kernel to download. A network that is too
    large to be built is refused, whatever its weights hold: it has fewer layers than its files have bytes / 1000, and
    fewer numbers than they have bytes. Raises UserError.
    """
    from transformers import AutoConfig, AutoModel

    path, size = folder / "config.json", sum(file.stat().st_size for file in weights_of(folder))
    given = read_json(path)
    if not isinstance(given, dict) or any(
        "layers" in key and not _is_depth(value, size) for key, value in given.items()
    ):
        raise UserError(f"{path}: not the configuration of these weights. Save the model again with save_pretrained.")
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if not _is_depth(getattr(config, "num_hidden_layers", None), size):  # under a name of its own, such as n_layer
        raise UserError(f"{path}: more layers than these weights hold. Save the model again with save_pretrained.")
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = AutoModel.from_config(config, trust_remote_code=False)
    if (numbers := model.num_parameters()) > SPARE + 2 * size:  # a pooler may be missing
        raise UserError(f"{path}: {numbers:,} numbers, but the weights have {size:,} bytes. Save the model again.")
    config._attn_implementation = "sdpa" if model._supports_sdpa else "eager"
    return config


def _is_depth(value: Any, size: int) -> bool:
    return value is None or isinstance(value, (bool, str, list, dict)) or 0 <= value <= max(8, size / 1000)


@reader
def load_model(folder: Path) -> tuple[Any, Any]:
    """A folder's model and tokeniser. Raises UserError."""
    try:
        from transformers import AutoModel
    except ImportError:
        raise UserError("encoder=hf: transformers is not installed. Run pip install 'elmo-bench[hf]'.") from None
    logging.getLogger("transformers").setLevel(logging.ERROR)
    given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with reading(folder, "a model that transformers can load"), only_files(folder) as files:
        config = _config(files)
        tokeniser = load_tokeniser(files, name=folder)
        if (weights := weights_of(files)[-1]).name.endswith(ENDING):
            model, about = _from_int8(config, weights)
        else:
            model, about = AutoModel.from_pretrained(
                files,
                use_safetensors=weights.suffix == ".safetensors",
                config=config,
                weights_only=True,
                dtype=torch.float32,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                **given,
            )
    if len(tokeniser.get_vocab().keys() - {*tokeniser.all_special_tokens}) <= 1:  # what transformers makes up
        raise UserError(f"encoder.name={folder}: no tokeniser there. Save it with tokenizer.save_pretrained(folder).")
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


def _from_int8(config: Any, weights: Path) -> tuple[Any, dict[str, Any]]:
    """A model from its configuration and an int8 file (`int8.py`), and the names that the file lacks."""
    from transformers import AutoModel

    model = AutoModel.from_config(config, trust_remote_code=False, dtype=torch.float32)
    prefix = f"{model.base_model_prefix}."
    tensors = {name.removeprefix(prefix): tensor for name, tensor in read_tensors(weights).items()}
    result = model.load_state_dict(tensors, strict=False)
    return model, {"missing_keys": set(result.missing_keys), "mismatched_keys": []}
