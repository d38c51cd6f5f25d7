"""The encoder kind `hf`: any transformer that `transformers` can load, frozen or tuned.

Without remote code.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError, is_of_machine
from elmo_bench.base.machine import parallel_map
from elmo_bench.base.progress import console
from elmo_bench.base.reading import AGAIN, reading
from elmo_bench.elmo.batches import check_tokens
from elmo_bench.elmo.frozen import (
    described,
    device_named,
    frozen,
    moved,
    multiplies_bfloat16,
)
from elmo_bench.encoders import Encoder, hf_files
from elmo_bench.encoders.checks import TEXTS, check_encoder, is_close
from elmo_bench.encoders.hf_adapter import has_adapter
from elmo_bench.encoders.hf_lora import prepare_training
from elmo_bench.encoders.hf_model import load_model, to_bfloat16
from elmo_bench.encoders.hf_words import OUTSIDE, UNLIMITED, Part, Pieces, flat
from elmo_bench.encoders.tuning import FROZEN, TRAINED_TEXTS, Tuned, check_way
from elmo_bench.text.batch import by_length, pools

POOLINGS = ("first", "last", "mean")
# What the checksum says of them: another word after a change of the vectors.
PRECISIONS = {"float32": "float32", "bfloat16": "bfloat16.2"}
# Texts and pieces, at most, that go through the network together.
CPU_POOL = (64, 4096)
GPU_POOL = (512, 16384)
# The limit of pieces in the configuration of BERT and most models, of LED, and of MPT.
LIMITS = (
    "max_position_embeddings",
    "max_encoder_position_embeddings",
    "max_seq_len",
)
ROOM = 2  # positions that some models (RoBERTa) number but never use


class HfEncoder:
    """A transformer as an `Encoder` (see `encoders/__init__.py`).

    Its layers are the embeddings and the output of each block (of the encoder, in an
    encoder-decoder). A word's vector is the one of its first or last piece or their
    mean; a word without pieces, such as a control character, has zeros. A sequence
    longer than the model's limit is read in parts, split between words. The checksum is
    of the files and of the pieces of a few texts, which follow from the files and from
    `packages`.
    """

    packages = hf_files.PACKAGES

    def __init__(
        self,
        *,
        weights: str,
        pooling: str | None = None,
        precision: str | None = None,
        device: str = "cpu",
        tune: str = FROZEN,
        seed: int = 0,
    ):
        """`weights`: see `hf_files.find`.

        `pooling`: first, last or mean; None: last for a causal model, whose earlier
        pieces have not seen the rest of the word, else first.
        `precision` of the network: float32 (None), or bfloat16, which pays on a GPU.
        `tune`: lora or full; then `tuned` has what is trained. `seed` of new adapters.

        Raises UserError if the model cannot be loaded or `transformers` is not
        installed.
        """
        if pooling not in (None, *POOLINGS):
            raise UserError(
                f"encoder.contextual.pooling={pooling}: unknown. "
                f"Choose one of: {', '.join(POOLINGS)}."
            )
        precision = precision or "float32"
        if precision not in PRECISIONS:
            raise UserError(
                f"encoder.contextual.precision={precision}: unknown. "
                "Choose float32 or bfloat16."
            )
        check_way(tune, precision=precision)
        self.folder = hf_files.find(weights)
        contents = hf_files.contents_of(self.folder)
        self.files = [content.path for content in contents]
        self.checksum = hf_files.checksum(weights, self.folder, contents)
        self.model, self.tokeniser = load_model(self.folder)
        hf_files.check_unchanged(self.folder, contents)
        self.device = device_named(device)
        self.name = weights
        self._to_device(precision)
        on_cpu = self.device.type == "cpu"
        self.size, self.tokens = CPU_POOL if on_cpu else GPU_POOL
        with reading(weights, "a transformer with layers of one width", ""):
            self.layers = 1 + int(self.model.config.num_hidden_layers)
            self.dim = int(self.model.config.hidden_size)
        parameters = self.model.parameters()
        self.parameters = sum(parameter.numel() for parameter in parameters)
        self.words = Pieces(self.tokeniser, name=weights)
        self.checksum += f" pieces {self.words.digest()}"
        self.longest = self._longest()
        self.parts = 0  # sequences that were read in parts so far
        what = "a transformer that reads a sentence alone and among others"
        with reading(weights, what, ""):
            self.pooling = pooling or ("last" if self._is_causal() else "first")
            self._check(slack=1e-4 if precision == "float32" else 0.05)
        options = {self.pooling, PRECISIONS[precision]}
        for option in sorted(options - {"first", "float32"}):
            self.checksum += f" {option}"
        self.tuned: Tuned | None = None
        if tune != FROZEN:
            prepare_training(self.model, tune, name=weights, seed=seed)
            if on_cpu:
                self.size = min(self.size, TRAINED_TEXTS)
            self.tuned = Tuned(self.model, self._read_tuned, way=tune)

    def _to_device(self, precision: str) -> None:
        """Freeze the network and move it. Raises UserError if the GPU is too old."""
        on_gpu = self.device.type == "cuda"
        if on_gpu and precision != "float32" and not multiplies_bfloat16(self.device):
            card = torch.cuda.get_device_name(self.device)
            raise UserError(
                f"encoder.contextual.precision={precision}: {card} cannot multiply in "
                "it. Choose float32."
            )
        # A GPU would wait for one core.
        parallel = "true" if on_gpu else "false"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", parallel)
        self.model.eval().requires_grad_(False).float()
        if precision == "bfloat16":
            to_bfloat16(self.model)
        self.model.to(self.device)

    def _longest(self) -> int:
        """The most pieces that the network reads at once, markers included.

        Raises UserError if that leaves no room for a word.
        """
        positions = UNLIMITED
        with reading(self.name, "a transformer whose limits are numbers", AGAIN):
            for name in LIMITS:
                limit = getattr(self.model.config, name, None) or -1
                if limit > 0:  # XLNet has -1, for no limit
                    positions = min(positions, limit)
            longest = int(min(self.tokeniser.model_max_length, positions - ROOM))
        if longest <= self.words.markers:
            raise UserError(
                f"encoder.name={self.name}: reads {longest} pieces at most, so no "
                f"word. {AGAIN}"
            )
        return longest

    def __repr__(self) -> str:
        adapter = " with its adapter" if has_adapter(self.folder) else ""
        return described(self, self.name + adapter)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """float32 [L, T, D] of each sentence, on the encoder's device.

        Results share memory, as `ElmoEncoder`'s do.
        """
        return self._encode(sentences, self._read)

    def _read_tuned(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """As `encode`, with gradients, autocast and the dropout that there is."""
        return self._encode(sentences, partial(self._by_pools, map, self._pool))

    def _encode(
        self,
        sentences: Sequence[Sequence[str]],
        read: Callable[[list[Part]], list[Tensor]],
    ) -> list[Tensor]:
        sentences = check_tokens(sentences, "encode")
        cut = self.words.parts(sentences, longest=self.longest)
        long = sum(len(parts) > 1 for parts in cut)
        if long and not self.parts:
            line = f"sequences of more than {self.longest} pieces are read in parts"
            console.print(line, highlight=False)
        self.parts += long
        encoded = iter(read([*chain.from_iterable(cut)]))
        results = []
        for parts in cut:
            layers = [next(encoded) for _ in parts] or [self._zeros(0)]
            results.append(torch.cat(layers, dim=1) if len(layers) > 1 else layers[0])
        return results

    @frozen
    def _is_causal(self) -> bool:
        """Whether the vector of a piece does not depend on the next one."""
        ids = torch.tensor([[1, 2, 3], [1, 2, 4]], device=self.device)
        ids = ids % self.model.config.vocab_size
        first, second = self._forward(ids, torch.ones_like(ids))[-1][:, 1]
        return bool(torch.allclose(first, second, rtol=1e-5, atol=1e-6))

    def _check(self, *, slack: float) -> None:
        """Read a few tiny texts, and a long one; vectors are equal within `slack`.

        Models that mix the padding of a call into their vectors (FNet, YOSO,
        Nystromformer, ConvBERT) read one sentence at a time. Raises UserError.
        """
        [alone] = self.encode(TEXTS[:1])
        [together, *_] = self.encode(TEXTS)
        if not is_close(alone, together, slack=slack):
            self.size = 1
            console.print(
                f"{self.name}: vectors depend on the other sentences, so it reads one "
                "at a time",
                highlight=False,
            )
        check_encoder(self, name=f"encoder.name={self.name}", slack=slack)
        # At most 512 pieces: whether the network reads more, a long text will show.
        length = min(self.longest, CPU_POOL[1] // 8)
        ids = torch.ones(1, length, dtype=torch.long, device=self.device)
        frozen(self._forward)(ids, torch.ones_like(ids))

    def _forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """The layers of `ids` [B, P], each [B, P, D].

        Raises UserError if the network cannot read so many pieces.
        """
        try:
            outputs = self.model(
                input_ids=ids, attention_mask=mask, output_hidden_states=True
            )
            layers: tuple[Tensor, ...] = outputs.hidden_states
        except (IndexError, RuntimeError) as error:
            if is_of_machine(error):
                raise
            raise UserError(
                f"encoder.name={self.name}: cannot read {ids.shape[1]} pieces at "
                f"once ({str(error).splitlines()[0]:.100}). If it reads fewer, give "
                "their number as model_max_length in its tokenizer_config.json."
            ) from None
        return layers

    def _zeros(self, words: int) -> Tensor:
        return torch.zeros(self.layers, words, self.dim, device=self.device)

    @frozen
    def _read(self, texts: Sequence[Part]) -> list[Tensor]:
        """[L, T, D] of each part."""
        apply = parallel_map if self.device.type == "cpu" else map
        return self._by_pools(apply, frozen(self._pool), texts)

    def _by_pools(
        self,
        apply: Callable[..., Iterator[list[Tensor]]],
        read: Callable[[list[Part]], list[Tensor]],
        texts: Sequence[Part],
    ) -> list[Tensor]:
        """[L, T, D] of each part, of which `read` reads a pool at once.

        Zeros where no word has a piece, which some models could not read.
        """
        rows = []
        results = []
        empty = self._zeros(0)
        for row, text in enumerate(texts):
            if max(text.owners, default=OUTSIDE) == OUTSIDE:
                results.append(self._zeros(text.words))
            else:
                rows.append(row)
                results.append(empty)
        lengths = [len(texts[row].ids) for row in rows]
        work = []
        for pool in pools(
            by_length(lengths), lengths, size=self.size, tokens=self.tokens
        ):
            work.append([rows[number] for number in pool])

        def read_pool(pool: list[int]) -> list[Tensor]:
            return read([texts[row] for row in pool])

        for pool, encoded in zip(work, apply(read_pool, work), strict=True):
            for row, layers in zip(pool, encoded, strict=True):
                results[row] = layers
        return results

    def _pool(self, texts: Sequence[Part]) -> list[Tensor]:
        """[L, T, D] of each part, which go through the model together."""
        self._check_ids(texts)
        lengths = torch.tensor([len(text.ids) for text in texts])
        counts = [text.words for text in texts]
        inside = torch.arange(int(lengths.max())) < lengths[:, None]  # BP
        ids = torch.zeros(inside.shape, dtype=torch.long)
        ids[inside] = flat(text.ids for text in texts)
        words, places = self._pooled(texts, lengths, inside)
        sizes = torch.bincount(words, minlength=sum(counts)).clamp(min=1)
        ids, mask, words, places, sizes = moved(
            self.device, ids, inside.long(), words, places, sizes
        )
        layers = []
        for layer in self._forward(ids, mask):
            layers.append(functional.embedding(places, layer.flatten(0, 1)))
        pieces = torch.stack(layers, dim=1).float()  # of N pieces, [N, L, D]
        sums = pieces.new_zeros(len(sizes), *pieces.shape[1:])
        sums.index_add_(0, words, pieces)
        means = sums / sizes[:, None, None]
        return [part.transpose(0, 1) for part in means.split(counts)]  # LTD

    def _check_ids(self, texts: Sequence[Part]) -> None:
        """Raises UserError for a piece that the model does not know."""
        largest = max(max(text.ids) for text in texts)
        size = self.model.config.vocab_size
        if largest >= size:
            raise UserError(
                f"encoder.name={self.name}: the tokeniser has a piece number "
                f"{largest}, but the model knows {size:,}. Save the tokeniser that the "
                "model was trained with."
            )

    def _pooled(
        self, texts: Sequence[Part], lengths: Tensor, inside: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The pieces that words' vectors are made of, int64 [N] twice.

        The number of the word among all words, and the piece's place in the flattened
        batch `inside` [B, P].
        """
        owners = flat(text.owners for text in texts)
        starts = torch.tensor([0, *accumulate(text.words for text in texts)])
        starts = starts[:-1].repeat_interleave(lengths)
        of_words = owners != OUTSIDE
        words = (owners + starts)[of_words]
        places = inside.flatten().nonzero()[:, 0][of_words]
        if self.pooling == "mean":
            return words, places
        edge = torch.tensor([OUTSIDE])
        if self.pooling == "first":  # a word's pieces are neighbours
            at_edge = words.diff(prepend=edge) != 0
        else:
            at_edge = words.diff(append=edge) != 0
        return words[at_edge], places[at_edge]


load: type[Encoder] = HfEncoder
