"""ELMo as a frozen encoder: tokenised sentences in, layers [L, T, 2P] out."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from elmo_bench.elmo.bilm import BiLM, State
from elmo_bench.elmo.inference import frozen, frozen_network
from elmo_bench.elmo.outputs import named_outputs, tokens_of
from elmo_bench.elmo.pretrained import load_files, locate
from elmo_bench.elmo.sentences import States, behind_markers, layers_of
from elmo_bench.elmo.sharing import Shareable
from elmo_bench.elmo.side_by_side import side_by_side
from elmo_bench.elmo.word_vectors import WordVectors
from elmo_bench.encoders.mix import ScalarMix
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, words_ids
from elmo_bench.text.pools import by_length, pools

START, END = (SENTENCE_START,), (SENTENCE_END,)
ROWS, TOKENS = 128, 4096  # at most, of a pool of sentences that go through the network together
FEWEST = 32  # sentences, below which a pool is not cut for the sake of another core


class ElmoEncoder(Shareable):
    """A biLM under the interface of an encoder (see `features.py`): `.layers`, `.dim`, `.checksum`, `.encode`.

    Stateless by default: every sentence starts from zero state, so its vectors depend on nothing else. With
    `stateful=True` row i of a call goes on from row i of the call before, as the original does (facts sheet 2.4).
    precision: float32 (the published numbers), or the faster bfloat16 or int8.
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

        `options`: the options.json where it does not lie beside the weights; then both are paths or addresses.
        """
        self.files = locate(weights, options)
        bilm, self.source = load_files(*self.files)
        self.bilm: BiLM = bilm
        self.stateful, self.device, self.precision = stateful, device, precision
        self.network = frozen_network(bilm, precision=precision, device=device)
        self.vectors = WordVectors(
            self.network.characters, words_ids, dim=bilm.options.projection_dim, device=self.device
        )
        self._states = States(bilm.options)
        self._first: list[State] | None = None

    @property
    def checksum(self) -> str:
        """What vectors depend on: the files, and a precision other than float32."""
        return self.source if self.precision == "float32" else f"{self.source} {self.precision}"

    @property
    def layers(self) -> int:
        return 1 + self.bilm.options.layers

    @property
    def dim(self) -> int:
        return 2 * self.bilm.options.projection_dim

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.bilm.parameters())

    @property
    def states(self) -> list[State]:
        """With `stateful`, what the next call goes on from: (h, c) of each layer, [2, B, P or H]; may be set."""
        return self._states.kept

    @states.setter
    def states(self, states: list[State]) -> None:
        self._states.kept = states

    def encode(self, sentences: Sequence[Sequence[str]], *, markers: bool = False) -> list[Tensor]:
        """The layers of each sentence, float32 [L, T, D] on the CPU; with `markers`, from `<S>` to `</S>`.

        Layer 0 is the character vector twice; every other layer is [forward; backward]. A stateful encoder takes the
        sentences as the rows of one batch; otherwise they may be as many as memory holds the results of.
        """
        if self.stateful:
            return self._together(sentences, markers=markers) if sentences else []
        results: list[Tensor] = [torch.empty(0)] * len(sentences)
        lengths = [len(sentence) for sentence in sentences]
        threads = torch.get_num_threads() if torch.device(self.device).type == "cpu" else 1
        size = max(FEWEST, min(ROWS, math.ceil(len(sentences) / threads)))
        work = list(pools(by_length(lengths), lengths, size=size, tokens=TOKENS))[::-1]  # the longest first

        def together(pool: list[int]) -> list[Tensor]:
            return self._together([sentences[row] for row in pool], markers=markers)

        for start in range(0, len(work), 8 * threads):
            some = work[start : start + 8 * threads]
            apart = threads > 1 and len(some) > 1
            if apart:
                self._prepare(sentences[row] for pool in some for row in pool)
            for pool, found in zip(some, (side_by_side if apart else map)(together, some), strict=True):
                for row, layers in zip(pool, found, strict=True):
                    results[row] = layers
        return results

    @frozen
    def _prepare(self, sentences: Iterable[Sequence[str]]) -> None:
        """What several threads then only read: the vectors of all words."""
        self.vectors(list({word for sentence in sentences for word in sentence} | {*START, *END}))
        self._behind_markers(1)

    @frozen
    def _together(self, sentences: Sequence[Sequence[str]], *, markers: bool) -> list[Tensor]:
        layers, lengths = self.batch(sentences, markers=markers)
        return [row[:, :length].to(torch.float32, copy=True) for row, length in zip(layers.cpu(), lengths, strict=True)]

    @frozen
    def batch(self, sentences: Sequence[Sequence[str]], *, markers: bool = False) -> tuple[Tensor, list[int]]:
        """Layers [B, L, T, D] of one batch on the encoder's device, to be read up to the lengths."""
        marked = markers or self.stateful
        places: dict[str, int] = {}
        rows = [
            [places.setdefault(word, 1 + len(places)) for word in ((*START, *sentence, *END) if marked else sentence)]
            for sentence in sentences
        ]
        lengths = [len(row) for row in rows]
        index = torch.zeros(len(rows), max(lengths), dtype=torch.int64)
        index[torch.arange(index.shape[1]) < torch.tensor(lengths)[:, None]] = torch.tensor(
            [place for row in rows for place in row], dtype=torch.int64
        )
        vectors = self.vectors(list(places))
        states = self._states.start(len(rows), vectors) if marked else self._behind_markers(len(rows))
        layers, last = layers_of(self.network, vectors, index.to(vectors.device), states)
        if self.stateful:
            self._states.keep(last)
            if not markers:
                return layers[:, :, 1:-1], [length - 2 for length in lengths]
        return layers, lengths

    def _behind_markers(self, rows: int) -> list[State]:
        if self._first is None:
            self._first = behind_markers(self.network, self.vectors([*START, *END]))
        return [(h.expand(-1, rows, -1), c.expand(-1, rows, -1)) for h, c in self._first]

    def outputs(self, sentences: Sequence[str | Sequence[str]], *, mix: ScalarMix | None = None) -> dict[str, Tensor]:
        """One batch under the names of the TF-Hub module: word_emb, lstm_outputs1, …, elmo, default, mask, lengths.

        Sentences are lists of tokens, or strings to be split on spaces. Tensors are float32, padded, on the encoder's
        device; their shapes stand at `outputs.named_outputs`. `mix` makes `elmo`, and gradients reach it.
        """
        tokens = tokens_of(sentences)
        if not tokens:
            return named_outputs(torch.zeros(0, self.layers, 0, self.dim, device=self.device), [], mix)
        layers, lengths = self.batch(tokens)
        return named_outputs(layers.float(), lengths, mix)
