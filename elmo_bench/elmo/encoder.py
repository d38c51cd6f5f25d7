"""`ElmoEncoder`: tokenised sentences in, the frozen biLM's layers [L, T, 2P] out.

A sentence passes through this file, `batches.py` (sorting), `frozen.py` (words to
vectors) and `kernels/` (network).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import parallel_map
from elmo_bench.elmo.batches import (
    check_tokens,
    keep,
    layers_of_words,
    started,
    zero_states,
)
from elmo_bench.elmo.export import Shareable
from elmo_bench.elmo.frozen import WordVectors, described, device_named, frozen, moved
from elmo_bench.elmo.kernels import Network, fastest
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.elmo.pretrained import locate
from elmo_bench.elmo.tfhub import named_outputs, split
from elmo_bench.elmo.weights import load_files
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.batch import by_length, pools
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, words_ids
from elmo_bench.text.vocabulary import LONGEST_WORD

START = (SENTENCE_START,)
END = (SENTENCE_END,)
# Sentences and tokens, at most, of a pool that goes through the network together. A GPU
# is as fast with a wider one.
CPU_POOL = (128, 4096)
GPU_POOL = (1024, 32768)
MADE_AT_FIRST_USE = ("network", "vectors")  # attributes that belong to the device
FEWEST = 32  # sentences; a smaller pool is not split for the sake of another core


class ElmoEncoder(Shareable):
    """A biLM as an `Encoder` (see encoders/__init__.py).

    `.layers`, `.dim`, `.checksum`, `.device`, `.encode`.

    Every sentence starts from zero states, so its vectors depend on nothing else (in
    int8 and bfloat16, a little on how many are encoded together: docs/encoder.md). With
    `stateful=True` sentence i of a call starts where sentence i of the call before
    ended, as in bilm-tf.
    precision: float32 (the published numbers), or the faster bfloat16, int8 (on a CPU)
    or tf32 (on a GPU).
    """

    def __init__(
        self,
        *,
        weights: str = "mini",
        options: str | None = None,
        stateful: bool = False,
        device: str = "cpu",
        precision: str = "float32",
    ):
        """`weights`: a name, folder, file, address or repository.

        See `pretrained.locate`. `options`: the options.json if it is not next to the
        weights; then both are paths or addresses.
        """
        self.name = weights
        self.files = locate(weights, options)
        bilm, checksum = load_files(*self.files)
        self._start(
            bilm, checksum, stateful=stateful, device=device, precision=precision
        )

    @classmethod
    def of(cls, bilm: BiLM, source: str, **options: Any) -> Self:
        """An encoder of a biLM in memory; `source` is its checksum.

        It has no files, so it cannot be saved. Options as above, and `ids`: turns
        words, in the form that they come in, into character ids [N, C].
        """
        encoder = cls.__new__(cls)
        encoder.name = source
        encoder._start(bilm, source, **options)
        return encoder

    def _start(
        self,
        bilm: BiLM,
        source: str,
        *,
        stateful: bool = False,
        device: str = "cpu",
        precision: str = "float32",
        ids: Callable[[Sequence[Any]], np.ndarray] = words_ids,
    ) -> None:
        self.bilm = bilm
        self.source = source
        self.stateful = stateful
        self.precision = precision
        self.ids = ids
        self.checksum = source if precision == "float32" else f"{source} {precision}"
        self.layers = 1 + bilm.options.layers
        self.dim = 2 * bilm.options.projection_dim
        self.parameters = sum(parameter.numel() for parameter in bilm.parameters())
        self._last_states: list[State] = []  # after the last call
        self.to(device)

    def to(self, device: str | torch.device) -> None:
        """Run on this device from now on. Remembered words are forgotten.

        Raises UserError if there is no such device here, or if it cannot compute in
        the encoder's precision. The encoder then remains on the device before.
        """
        device = device_named(str(device))
        network = self._network_on(device)
        self.device = device
        self._forget()
        self.network = network

    def _forget(self) -> None:
        """Forget what the device has."""
        for name in MADE_AT_FIRST_USE:
            self.__dict__.pop(name, None)
        self._after_markers: list[State] | None = None

    @cached_property
    def network(self) -> Network:
        """The fastest network of the weights on the device."""
        return self._network_on(self.device)

    def _network_on(self, device: torch.device) -> Network:
        """The network on a device. Raises UserError for a precision that it lacks."""
        return fastest(self.bilm, precision=self.precision, device=str(device))

    @cached_property
    def vectors(self) -> WordVectors:
        """Vectors of words, each computed once."""
        return WordVectors(
            self.network.characters,
            self.ids,
            dim=self.bilm.options.projection_dim,
            device=self.device,
        )

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        """A copy that shares weights and remembered words."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in MADE_AT_FIRST_USE:
            state.pop(name, None)
        # Tensors of a device that another process may lack.
        state["_after_markers"] = None
        state["_last_states"] = [(h.cpu(), c.cpu()) for h, c in self._last_states]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """On a CPU, or with tf32 on its GPU, which this process may lack until use."""
        self.__dict__.update(state)
        if self.precision != "tf32":
            self.device = torch.device("cpu")
        self._forget()

    def __repr__(self) -> str:
        return described(self, self.name)

    @frozen
    def encode(
        self, sentences: Sequence[Sequence[str]], *, markers: bool = False
    ) -> list[Tensor]:
        """The layers of each sentence, float32 [L, T, D] on the encoder's device.

        With `markers`, from `<S>` to `</S>`. Layer 0 is the character vector twice;
        every other layer is [forward; backward].

        A stateful encoder takes the sentences as the rows of one batch; otherwise there
        may be as many as memory can hold the results of. Results share memory:
        `clone()` the few that you keep of many. Raises UserError for a sentence that is
        not a list of strings.
        """
        sentences = check_tokens(sentences, "encode")
        if not sentences:
            return []
        if self.stateful:
            return self._encode_pool(sentences, markers=markers)

        def encode_pool(pool: list[int]) -> list[Tensor]:
            return self._encode_pool([sentences[row] for row in pool], markers=markers)

        results = [torch.empty(0)] * len(sentences)
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        work = self._pools(sentences, threads)
        at_once = 8 * threads
        for start in range(0, len(work), at_once):
            some = work[start : start + at_once]
            encoded: Iterable[list[Tensor]]
            if threads > 1 and len(some) > 1:
                rows = chain.from_iterable(some)
                self._compute_shared([sentences[row] for row in rows])
                encoded = parallel_map(encode_pool, some)
            else:
                encoded = map(encode_pool, some)
            for pool, layers_of_pool in zip(some, encoded, strict=True):
                for row, layers in zip(pool, layers_of_pool, strict=True):
                    results[row] = layers
        return results

    def _pools(
        self, sentences: Sequence[Sequence[str]], threads: int
    ) -> list[list[int]]:
        """The numbers of sentences that are computed together, the longest first."""
        lengths = [len(sentence) for sentence in sentences]
        rows, tokens = CPU_POOL if self.device.type == "cpu" else GPU_POOL
        share = math.ceil(len(sentences) / threads)
        size = max(FEWEST, min(rows, share))
        by_rising_length = [
            *pools(by_length(lengths), lengths, size=size, tokens=tokens)
        ]
        return by_rising_length[::-1]

    def _compute_shared(self, sentences: Iterable[Sequence[str]]) -> None:
        """Compute what the threads then only read."""
        words = {*START, *END}
        for sentence in sentences:
            words.update(word[:LONGEST_WORD] for word in sentence)
        self.vectors(list(words))
        self._start_after_markers(1)

    @frozen
    def _encode_pool(
        self, sentences: Sequence[Sequence[str]], *, markers: bool
    ) -> list[Tensor]:
        layers, lengths = self.batch(sentences, markers=markers)  # BLTD
        rows = layers.transpose(1, 2).flatten(0, 2)  # (B T L)D
        numbers = torch.arange(len(rows)).view(len(lengths), -1, self.layers)  # BTL
        numbers = numbers.transpose(1, 2)  # BLT
        steps = torch.arange(layers.shape[2])
        inside = steps < torch.tensor(lengths)[:, None, None]
        # One copy for all sentences: a GPU would do thousands.
        [chosen] = moved(rows.device, numbers[inside.expand_as(numbers)])
        vectors = functional.embedding(chosen, rows).float()
        parts = vectors.split([self.layers * length for length in lengths])
        return [part.view(self.layers, -1, self.dim) for part in parts]

    @frozen
    def batch(
        self, sentences: Sequence[Sequence[str]], *, markers: bool = False
    ) -> tuple[Tensor, list[int]]:
        """Layers [B, L, T, D] of one batch on the encoder's device.

        They are valid up to the lengths.
        """
        marked = markers or self.stateful
        rows = len(sentences)
        if marked:
            sentences = [(*START, *sentence, *END) for sentence in sentences]

        def start(vectors: Tensor) -> list[State]:
            if marked:
                return started(self._last_states, self.bilm.options, rows, vectors)
            return self._start_after_markers(rows)

        def vectors(words: Sequence[Any]) -> Tensor:
            # Cut, since 48 bytes count and the word is remembered.
            return self.vectors([word[:LONGEST_WORD] for word in words])

        layers, lengths, last = layers_of_words(self.network, vectors, sentences, start)
        if self.stateful:
            self._last_states = keep(self._last_states, last)
        if marked and not markers:
            return layers[:, :, 1:-1], [length - 2 for length in lengths]
        return layers, lengths

    def _start_after_markers(self, rows: int) -> list[State]:
        """The states that sentences without markers start from.

        The states after `<S>`, backward after `</S>`, whose layers nobody reads.
        """
        if self._after_markers is None:
            vectors = self.vectors([*START, *END])
            words = torch.tensor([1, 2], device=vectors.device)[:, None, None]  # 2TB
            zeros = zero_states(self.bilm.options, 1, vectors)
            _, states = self.network.contextual(vectors, words, zeros, [1])
            self._after_markers = states
        return [
            (h.expand(-1, rows, -1), c.expand(-1, rows, -1))
            for h, c in self._after_markers
        ]

    def outputs(
        self, sentences: Sequence[str | Sequence[str]], *, mix: ScalarMix | None = None
    ) -> dict[str, Tensor]:
        """One batch under the names of the TF-Hub module `google/elmo`.

        float32, padded with zeros. Sentences are lists of tokens, or strings to be
        split on spaces (the module's signature `default`).

        word_emb [B, T, P]; lstm_outputs1, … [B, T, 2P]; elmo [B, T, 2P], the layers'
        mean, or their `mix`, which gradients reach; default [B, 2P], the mean of elmo
        over the tokens; mask, bool [B, T]; lengths, int64 [B].
        """
        if isinstance(sentences, str):
            raise UserError(
                "outputs: a string, expected a list of sentences. For one sentence "
                f"give [{sentences[:20]!r}]."
            )
        tokenised = check_tokens([split(sentence) for sentence in sentences], "outputs")
        if tokenised:
            layers, lengths = self.batch(tokenised)
        else:
            layers = torch.zeros(0, self.layers, 0, self.dim, device=self.device)
            lengths = []
        return named_outputs(layers, lengths, mix)
