"""`Elmo` with the interface of AllenNLP 2.10.1, and `ElmoEmbedder` with the interface of version 0.9.

Sources: `allennlp.modules.elmo`, whose behaviour is recorded in tests/golden/elmo_module.npz, and
`allennlp.commands.elmo` of the older version, whose network is the same.
"""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.batches import keep, layers_of_words, started
from elmo_bench.elmo.embed import windows
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.frozen import frozen
from elmo_bench.elmo.kernels import Network
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.elmo.weights import load_bilm
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.chars import CHARACTERS, SENTENCE_END, SENTENCE_START, WORD_LENGTH, words_ids

File = str | PathLike[str] | None
ID = np.dtype(np.int16)
START, END = (row.astype(ID).tobytes() for row in words_ids([SENTENCE_START, SENTENCE_END]))


def ids_of(words: Sequence[bytes]) -> np.ndarray:
    """Ids int64 [N, C] of words, each the bytes of its ids."""
    return np.frombuffer(b"".join(words), dtype=ID).reshape(-1, WORD_LENGTH).astype(np.int64)


class PublishedMix(nn.Module):
    """A ScalarMix with AllenNLP's parameter names: `gamma` [1] and `scalar_parameters`, one [1] for each layer.

    `fixed`: the scalars before the softmax; then neither they nor gamma are trained.
    """

    def __init__(self, layers: int, *, layer_norm: bool, fixed: Sequence[float] | None):
        super().__init__()
        trained = fixed is None
        start = [0.0] * layers if fixed is None else fixed
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trained)
        self.scalar_parameters = nn.ParameterList(
            nn.Parameter(torch.full((1,), float(scalar)), requires_grad=trained) for scalar in start
        )
        self._formula = (ScalarMix(layers, layer_norm="batch" if layer_norm else "none"),)  # in a tuple: not a child

    def forward(self, layers: Tensor, mask: Tensor) -> Tensor:
        """layers [B, L, T, D], mask [B, T] -> [B, T, D], computed in float32, in the dtype of the parameters."""
        values = {"gamma": self.gamma[0].float(), "scalars": torch.cat([*self.scalar_parameters]).float()}
        with torch.autocast(layers.device.type, enabled=False):
            return functional_call(self._formula[0], values, (layers.float(), mask)).to(self.gamma.dtype)


class Elmo(nn.Module):
    """ELMo representations from character ids, for use inside a model.

    options_file, weight_file: paths or addresses (also the published ones). With `options_file=None`, `weight_file` is
        anything that `ElmoEncoder(weights=…)` accepts: mini, a published name, a folder, a repository on the Hub.
    num_output_representations: the number of mixes, each with its weights: `scalar_mix_0`, ….
    requires_grad: True trains the biLM, which is then the child `bilm`. Otherwise it is frozen and not a child, so that
        parameters(), train(), requires_grad_(), apply() and state_dict() do not reach it.
    do_layer_norm: normalise each layer by one mean and variance over all tokens of the batch, markers included.
    dropout: of each representation, in training mode.
    vocab_to_cache: the words that `word_inputs` counts; the first is padding. Vectors of words are remembered anyway.
    keep_sentence_boundaries: keep `<S>` and `</S>` in the output.
    scalar_mix_parameters: one number for each layer, before the softmax; then neither they nor gamma are trained.
    module: a `BiLM`, or the biLM of an `ElmoEncoder`, instead of the files. With `requires_grad=True` a BiLM itself is
        trained (a copy for an encoder); a frozen one is copied.

    Not in AllenNLP: `stateful=True` starts row i of a call where row i of the call before ended, which AllenNLP always
    does; by default every call starts from zeros. `precision`: as for `ElmoEncoder`, of a frozen biLM.

    The mixes have AllenNLP's names in state_dict(). Raises UserError for files and numbers of layers that do not fit.
    """

    bilm: BiLM | None

    def __init__(  # noqa: PLR0917  AllenNLP's order
        self,
        options_file: File,
        weight_file: File,
        num_output_representations: int,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,  # no effect: words are remembered anyway
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: BiLM | ElmoEncoder | None = None,
        *,
        stateful: bool = False,
        precision: str = "float32",
    ):
        super().__init__()
        bilm = _bilm(options_file, weight_file, module, trained=requires_grad)
        self.options = bilm.options
        layers = 1 + self.options.layers
        if num_output_representations < 1:
            raise UserError(f"num_output_representations={num_output_representations}: too few. Give 1 or more.")
        if scalar_mix_parameters is not None and len(scalar_mix_parameters) != layers:
            given = [*scalar_mix_parameters]
            raise UserError(f"scalar_mix_parameters={given}: wrong length. Give {layers} numbers, one for each layer.")
        if requires_grad and precision != "float32":
            raise UserError(f"precision={precision}: for a frozen biLM only. Use float32 with requires_grad=True.")
        bilm.requires_grad_(requires_grad)
        self.bilm = bilm if requires_grad else None
        # No child: parameters(), train(), apply() and state_dict() do not reach it.
        self.encoder = None if requires_grad else ElmoEncoder.of(bilm, "", precision=precision, ids=ids_of)
        self.stateful, self.keep_sentence_boundaries = stateful, keep_sentence_boundaries
        self._kept: list[State] = []  # states after the last call
        self._dropout = nn.Dropout(dropout)
        for number in range(num_output_representations):
            mix = PublishedMix(layers, layer_norm=do_layer_norm, fixed=scalar_mix_parameters)
            self.add_module(f"scalar_mix_{number}", mix)

    @property
    def mixes(self) -> list[PublishedMix]:
        """`scalar_mix_0`, …, one for each representation."""
        return [child for child in self.children() if isinstance(child, PublishedMix)]

    def get_output_dim(self) -> int:
        """2P, the last axis of the representations."""
        return 2 * self.options.projection_dim

    def reset_states(self) -> None:
        """Start the next call from zeros."""
        self._kept = []

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, Tensor | list[Tensor]]:
        """Ids [B, T, 50], or with more axes in front -> `elmo_representations` and `mask`, bool [B, T].

        The representations are a list of tensors [B, T, 2P], zeros at padding; with `keep_sentence_boundaries` T + 2,
        `</S>` after the last token. `word_inputs` have no effect: words are remembered anyway. Raises UserError for
        other shapes and ids.
        """
        ids = _checked(inputs)
        front = ids.shape[:-2]
        layers, lengths = self._layers(ids.reshape(math.prod(front), *ids.shape[-2:]))
        steps = torch.arange(layers.shape[2], device=layers.device)
        mask, inside = steps < lengths[:, None] + 2, steps[:-2] < lengths[:, None]  # B(T + 2), BT
        representations = []
        for mix in self.mixes:
            mixed = mix(layers, mask)
            if not self.keep_sentence_boundaries:
                mixed = torch.where(inside[..., None], mixed[:, 1:-1], 0)
            representations.append(self._dropout(mixed.reshape(*front, *mixed.shape[1:])))
        kept = mask if self.keep_sentence_boundaries else inside
        return {"elmo_representations": representations, "mask": kept.reshape(*front, kept.shape[1])}

    def _layers(self, ids: np.ndarray) -> tuple[Tensor, Tensor]:
        """Ids [B, T, C] -> layers [B, L, T + 2, 2P], markers included, and lengths [B] without them."""
        network, vectors, device = self._network()
        counts = ids.any(axis=2).sum(axis=1)  # B
        lengths = torch.from_numpy(counts).to(device)
        rows, steps = ids.shape[:2]
        if not rows:
            return torch.zeros(0, 1 + self.options.layers, steps + 2, self.get_output_dim(), device=device), lengths
        words = np.ascontiguousarray(ids, dtype=ID).view(f"V{len(START)}").reshape(rows, steps).tolist()
        sentences = [[START, *row[:count], END] for row, count in zip(words, counts, strict=True)]
        compute = layers_of_words if self.bilm is not None and torch.is_grad_enabled() else frozen(layers_of_words)
        layers, _, last = compute(
            network, vectors, sentences, lambda table: started(self._kept, self.options, rows, table)
        )
        if self.stateful:
            self._kept = keep(self._kept, last)
        return functional.pad(layers, (0, 0, 0, steps + 2 - layers.shape[2])), lengths

    def _network(self) -> tuple[Network, Callable[[Sequence[bytes]], Tensor], torch.device]:
        """The network, the vectors [1 + N, P] of words, and their device: the one of the mixes."""
        device = self.mixes[0].gamma.device
        if self.encoder is not None:
            if self.encoder.device != device:
                self.encoder.to(device)
            return self.encoder.network, self.encoder.vectors, device
        assert self.bilm is not None
        network = BatchedBiLM(self.bilm)  # no cache and no packed copy: the weights as they are now

        def vectors(words: Sequence[bytes]) -> Tensor:
            return functional.pad(network.characters(torch.from_numpy(ids_of(words)).to(device)), (0, 0, 1, 0))

        return network, vectors, device


def _checked(inputs: Tensor) -> np.ndarray:
    """Character ids [..., T, C]. Raises UserError for anything that `batch_to_ids` does not make."""
    is_whole = isinstance(inputs, Tensor) and inputs.dtype in (torch.int16, torch.int32, torch.int64)
    if is_whole and inputs.ndim >= 3 and inputs.shape[-1] == WORD_LENGTH:
        ids = inputs.cpu().numpy()
        real = np.asarray(ids.any(axis=-1))  # ...T
        if not ids.size or (ids.min() >= 0 and ids.max() < CHARACTERS and not (real[..., 1:] & ~real[..., :-1]).any()):
            return ids
    what = f"{inputs.dtype} {[*inputs.shape]}" if isinstance(inputs, Tensor) else type(inputs).__name__
    raise UserError(
        f"inputs: {what}, expected integers from 0 to {CHARACTERS - 1}, [B, T, {WORD_LENGTH}], without padding before "
        "a token. Use batch_to_ids(sentences)."
    )


def _bilm(options_file: File, weight_file: File, module: BiLM | ElmoEncoder | None, *, trained: bool) -> BiLM:
    """The biLM of the files or the module, in float32 on the CPU; a copy, unless a BiLM is to be trained."""
    if module is None and weight_file is not None:
        return load_bilm(str(weight_file), None if options_file is None else str(options_file))[0]
    if options_file is not None or weight_file is not None or not isinstance(module, BiLM | ElmoEncoder):
        raise UserError(
            "weight_file: missing, or given with a module. Give a file with options_file, options_file=None and a "
            "name (mini, original, …), or None for both and module=: a BiLM or an ElmoEncoder."
        )
    if trained and isinstance(module, BiLM):
        return module
    return copy.deepcopy(module if isinstance(module, BiLM) else module.bilm).to("cpu", torch.float32)


class ElmoEmbedder:
    """All layers of tokenised sentences, float32 [3, T, 1024] with the published weights ([L, T, 2P] in general).

    options_file, weight_file: paths or addresses (also the published ones). With `options_file=None`, `weight_file` is
        anything that `ElmoEncoder(weights=…)` accepts; both None: `original`, AllenNLP's default.
    cuda_device: the number of a GPU; -1 for the CPU.

    Not in AllenNLP: `options` of `ElmoEncoder`. With `stateful=True` row i of a batch starts where row i of the batch
    before ended, as always in AllenNLP; by default every batch starts from zeros. Raises UserError.
    """

    def __init__(self, options_file: File = None, weight_file: File = None, cuda_device: int = -1, **options: Any):
        if options_file is not None and weight_file is None:
            raise UserError("weight_file: missing. Give the weights that belong to options_file.")
        self.encoder = ElmoEncoder(
            weights="original" if weight_file is None else str(weight_file),
            options=None if options_file is None else str(options_file),
            device=f"cuda:{cuda_device}" if cuda_device >= 0 else "cpu",
            **options,
        )

    def embed_sentence(self, sentence: Sequence[str]) -> np.ndarray:
        """Layers [L, T, 2P] of one sentence."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Layers [L, T, 2P] of each sentence, T 0 for an empty one."""
        return [layers.cpu().numpy() for layers in self.encoder.encode(batch)]

    def embed_sentences(self, sentences: Iterable[Sequence[str]], batch_size: int = 64) -> Iterator[np.ndarray]:
        """Layers [L, T, 2P] of each sentence, in order; `batch_size` sentences are held at a time."""
        for batch in windows(sentences, size=len, batch=batch_size):
            yield from self.embed_batch(batch)
