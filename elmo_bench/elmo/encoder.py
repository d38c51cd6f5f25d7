"""`ElmoEncoder`: tokenised sentences in, the frozen biLM's layers [L, T, 2P] out.

A sentence passes through this file, `batches.py` (sorting), `frozen.py` (words to vectors) and `kernels/` (network).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import parallel_map
from elmo_bench.elmo.batches import check_tokens, keep, layers_of_words, started, zero_states
from elmo_bench.elmo.export import Shareable
from elmo_bench.elmo.frozen import WordVectors, described, device_named, frozen, moved
from elmo_bench.elmo.kernels import fastest
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.elmo.pretrained import locate
from elmo_bench.elmo.weights import load_files
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.batch import by_length, pools
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, words_ids
from elmo_bench.text.vocabulary import LONGEST_WORD

START, END = (SENTENCE_START,), (SENTENCE_END,)
# Sentences and tokens, at most, of a pool that goes through the network together. A GPU is as fast with a wider one.
CPU_POOL, GPU_POOL = (128, 4096), (1024, 32768)
FEWEST = 32  # sentences; a smaller pool is not split for the sake of another core


class ElmoEncoder(Shareable):
    """A biLM as an `Encoder` (see encoders/__init__.py): `.layers`, `.dim`, `.checksum`, `.device`, `.encode`.

    Every sentence starts from zero states, so its vectors depend on nothing else. With `stateful=True` sentence i of a
    call starts where sentence i of the call before ended, as in bilm-tf.
    precision: float32 (the published numbers), or the faster bfloat16, int8 (on a CPU) or tf32 (on a GPU).
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
        """`weights`: a name, folder, file, address or repository (see `pretrained.locate`).

        `options`: the options.json if it is not next to the weights; then both are paths or addresses.
        """
        self.files, self.name = locate(weights, options), weights
        self._start(*load_files(*self.files), stateful=stateful, device=device, precision=precision)

    @classmethod
    def of(cls, bilm: BiLM, source: str, **options: Any) -> Self:
        """An encoder of a biLM in memory; `source` is its checksum. It has no files, so it cannot be saved.

        Options as above, and `ids`: turns words, in the form that they come in, into character ids [N, C].
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
        self.bilm, self.source, self.stateful, self.precision, self.ids = bilm, source, stateful, precision, ids
        self.checksum = source if precision == "float32" else f"{source} {precision}"
        self.layers, self.dim = 1 + bilm.options.layers, 2 * bilm.options.projection_dim
        self.parameters = sum(parameter.numel() for parameter in bilm.parameters())
        self._kept: list[State] = []  # states after the last call
        self.to(device_named(device))

    def to(self, device: str | torch.device) -> None:
        """Run on this device from now on. Remembered words are forgotten."""
        self.device = device = torch.device(device)
        self.network = fastest(self.bilm, precision=self.precision, device=str(device))
        dim = self.bilm.options.projection_dim
        self.vectors = WordVectors(self.network.characters, self.ids, dim=dim, device=device)
        self._after_markers: list[State] | None = None

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        """A copy that shares weights and remembered words."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("network", "vectors")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.to(torch.device("cpu"))

    def __repr__(self) -> str:
        return described(self, self.name)

    @frozen
    def encode(self, sentences: Sequence[Sequence[str]], *, markers: bool = False) -> list[Tensor]:
        """The layers of each sentence, float32 [L, T, D] on the encoder's device; with `markers`, from `<S>` to `</S>`.

        Layer 0 is the character vector twice; every other layer is [forward; backward]. A stateful encoder takes the
        sentences as the rows of one batch; otherwise there may be as many as memory can hold the results of. Results
        share memory: `clone()` the few that you keep of many. Raises UserError for a sentence that is not a
        list of strings.
        """
        sentences = check_tokens(sentences, "encode")
        if self.stateful:
            return self._encode_pool(sentences, markers=markers) if sentences else []
        results: list[Tensor] = [torch.empty(0)] * len(sentences)
        lengths = [len(sentence) for sentence in sentences]
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        rows, tokens = CPU_POOL if self.device.type == "cpu" else GPU_POOL
        size = max(FEWEST, min(rows, math.ceil(len(sentences) / threads)))
        work = list(pools(by_length(lengths), lengths, size=size, tokens=tokens))[::-1]  # the longest first

        def encode_pool(pool: list[int]) -> list[Tensor]:
            return self._encode_pool([sentences[row] for row in pool], markers=markers)

        for start in range(0, len(work), 8 * threads):
            some = work[start : start + 8 * threads]
            parallel = threads > 1 and len(some) > 1
            if parallel:  # compute what the threads then only read
                words = {word[:LONGEST_WORD] for pool in some for row in pool for word in sentences[row]}
                self.vectors(list(words | {*START, *END}))
                self._start_after_markers(1)
            for pool, of_pool in zip(some, (parallel_map if parallel else map)(encode_pool, some), strict=True):
                for row, layers in zip(pool, of_pool, strict=True):
                    results[row] = layers
        return results

    @frozen
    def _encode_pool(self, sentences: Sequence[Sequence[str]], *, markers: bool) -> list[Tensor]:
        layers, lengths = self.batch(sentences, markers=markers)  # BLTD
        rows = layers.transpose(1, 2).flatten(0, 2)  # in the order B, T, L
        numbers = torch.arange(len(rows)).view(len(lengths), -1, self.layers).transpose(1, 2)  # BLT
        inside = torch.arange(layers.shape[2]) < torch.tensor(lengths)[:, None, None]
        [kept] = moved(rows.device, numbers[inside.expand_as(numbers)])  # one copy for all: a GPU would do thousands
        parts = functional.embedding(kept, rows).float().split([self.layers * length for length in lengths])
        return [part.view(self.layers, -1, self.dim) for part in parts]

    @frozen
    def batch(self, sentences: Sequence[Sequence[str]], *, markers: bool = False) -> tuple[Tensor, list[int]]:
        """Layers [B, L, T, D] of one batch on the encoder's device, valid up to the lengths."""
        marked = markers or self.stateful
        words = [(*START, *sentence, *END) for sentence in sentences] if marked else sentences

        def start(vectors: Tensor) -> list[State]:
            if marked:
                return started(self._kept, self.bilm.options, len(words), vectors)
            return self._start_after_markers(len(words))

        def vectors(words: Sequence[Any]) -> Tensor:  # cut, since 48 bytes count and the word is remembered
            return self.vectors([word[:LONGEST_WORD] for word in words])

        layers, lengths, last = layers_of_words(self.network, vectors, words, start)
        if self.stateful:
            self._kept = keep(self._kept, last)
            if not markers:
                return layers[:, :, 1:-1], [length - 2 for length in lengths]
        return layers, lengths

    def _start_after_markers(self, rows: int) -> list[State]:
        """The states of sentences without markers, whose layers nobody reads: after `<S>`, backward after `</S>`."""
        if self._after_markers is None:
            vectors = self.vectors([*START, *END])
            words = torch.tensor([1, 2], device=vectors.device)[:, None, None]  # 2TB
            zeros = zero_states(self.bilm.options, 1, vectors)
            self._after_markers = self.network.contextual(vectors, words, zeros, [1])[1]
        return [(h.expand(-1, rows, -1), c.expand(-1, rows, -1)) for h, c in self._after_markers]

    def outputs(self, sentences: Sequence[str | Sequence[str]], *, mix: ScalarMix | None = None) -> dict[str, Tensor]:
        """One batch under the names of the TF-Hub module `google/elmo`, float32, padded with zeros.

        Sentences are lists of tokens, or strings to be split on spaces (the module's signature `default`).
        word_emb [B, T, P]; lstm_outputs1, … [B, T, 2P]; elmo [B, T, 2P], the layers' mean, or their `mix`, which
        gradients reach; default [B, 2P], the mean of elmo over the tokens; mask, bool [B, T]; lengths, int64 [B].
        """
        if isinstance(sentences, str):
            raise UserError(
                f"outputs: a string, expected a list of sentences. For one sentence give [{sentences[:20]!r}]."
            )
        split = [
            [token for token in sentence.split(" ") if token] if isinstance(sentence, str) else sentence
            for sentence in sentences
        ]
        check_tokens(split, "outputs")
        none: tuple[Tensor, list[int]] = torch.zeros(0, self.layers, 0, self.dim, device=self.device), []
        layers, lengths = self.batch(split) if split else none
        sizes = torch.tensor(lengths, dtype=torch.int64, device=layers.device)
        mask = torch.arange(layers.shape[2], device=layers.device) < sizes[:, None]  # BT
        layers = torch.where(mask[:, None, :, None], layers.float(), 0)
        elmo = layers.mean(dim=1) if mix is None else torch.where(mask[..., None], mix(layers, mask), 0)  # BT(2P)
        first, *others = layers.unbind(1)
        return {
            "word_emb": first[..., : first.shape[2] // 2],
            **{f"lstm_outputs{number}": layer for number, layer in enumerate(others, start=1)},
            "elmo": elmo,
            "default": elmo.sum(dim=1) / sizes.clamp(min=1)[:, None],
            "mask": mask,
            "lengths": sizes,
        }
