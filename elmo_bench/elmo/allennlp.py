"""`Elmo` with the interface of AllenNLP 2.10.1.

Source: `allennlp.modules.elmo`, whose behaviour is recorded in
tests/golden/elmo_module.npz.
"""

import copy
import math
from collections.abc import Callable, Sequence
from os import PathLike

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.batches import check_ids, keep, layers_of_words, started
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.frozen import frozen, uncompiled
from elmo_bench.elmo.kernels import Network
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.model import BiLM, State
from elmo_bench.elmo.weights import load_bilm
from elmo_bench.nn.mix import ScalarMix
from elmo_bench.text.chars import SENTENCE_END, SENTENCE_START, WORD_LENGTH, words_ids

File = str | PathLike[str] | None
ID = np.dtype(np.int16)
START, END = (
    row.astype(ID).tobytes() for row in words_ids([SENTENCE_START, SENTENCE_END])
)


def ids_of(words: Sequence[bytes]) -> np.ndarray:
    """Ids int64 [N, C] of words, each the bytes of its ids."""
    ids = np.frombuffer(b"".join(words), dtype=ID)
    return ids.reshape(-1, WORD_LENGTH).astype(np.int64)


class PublishedMix(nn.Module):
    """A ScalarMix with AllenNLP's parameter names.

    `gamma` [1] and `scalar_parameters`, one [1] for each layer. `fixed`: the scalars
    before the softmax; then neither they nor gamma are trained.
    """

    def __init__(self, layers: int, *, layer_norm: bool, fixed: Sequence[float] | None):
        super().__init__()
        trained = fixed is None
        start = [0.0] * layers if fixed is None else fixed
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trained)
        self.scalar_parameters = nn.ParameterList()
        for scalar in start:
            value = torch.full((1,), float(scalar))
            self.scalar_parameters.append(nn.Parameter(value, requires_grad=trained))
        mix = ScalarMix(layers, layer_norm="batch" if layer_norm else "none")
        self._formula = (mix,)  # in a tuple: not a child

    def forward(self, layers: Tensor, mask: Tensor) -> Tensor:
        """layers [B, L, T, D], mask [B, T] -> [B, T, D].

        Computed in float32, in the dtype of the parameters.
        """
        [mix] = self._formula
        scalars = torch.cat([*self.scalar_parameters])
        values = {"gamma": self.gamma[0].float(), "scalars": scalars.float()}
        with torch.autocast(layers.device.type, enabled=False):
            mixed = functional_call(mix, values, (layers.float(), mask))
            return mixed.to(self.gamma.dtype)


class Elmo(nn.Module):
    """ELMo representations from character ids, for use inside a model.

    options_file, weight_file: paths or addresses (also the published ones). With
        `options_file=None`, `weight_file` is anything that `ElmoEncoder(weights=…)`
        accepts: mini, a published name, a folder, a repository on the Hub.
    num_output_representations: the number of mixes, each with its weights:
        `scalar_mix_0`, ….
    requires_grad: True trains the biLM, which is then the child `bilm`. Otherwise it is
        frozen and not a child, so that parameters(), train(), requires_grad_(), apply()
        and state_dict() do not reach it.
    do_layer_norm: normalise each layer by one mean and variance over all tokens of the
        batch, markers included.
    dropout: of each representation, in training mode.
    vocab_to_cache: the words that `word_inputs` counts; the first is padding. Vectors
        of words are remembered anyway.
    keep_sentence_boundaries: keep `<S>` and `</S>` in the output.
    scalar_mix_parameters: one number for each layer, before the softmax; then neither
        they nor gamma are trained.
    module: a `BiLM`, or the biLM of an `ElmoEncoder`, instead of the files. With
        `requires_grad=True` a BiLM itself is trained (a copy for an encoder); a frozen
        one is copied.

    Not in AllenNLP: `stateful=True` starts row i of a call where row i of the call
    before ended, which AllenNLP always does; by default every call starts from zeros.
    `precision`: as for `ElmoEncoder`, of a frozen biLM.

    The mixes have AllenNLP's names in state_dict(). Raises UserError for files and
    numbers of layers that do not fit.
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
        # No effect: words are remembered anyway.
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: BiLM | ElmoEncoder | None = None,
        *,
        stateful: bool = False,
        precision: str = "float32",
    ):
        super().__init__()
        bilm = _bilm(options_file, weight_file, module, trained=requires_grad)
        layers = 1 + bilm.options.layers
        _check_mixes(num_output_representations, scalar_mix_parameters, layers)
        if requires_grad and precision != "float32":
            raise UserError(
                f"precision={precision}: for a frozen biLM only. Use float32 with "
                "requires_grad=True."
            )
        bilm.requires_grad_(requires_grad)
        self.options = bilm.options
        self.bilm = bilm if requires_grad else None
        self.encoder = None
        if not requires_grad:
            # No child: parameters(), train(), apply() and state_dict() do not reach it.
            self.encoder = ElmoEncoder.of(bilm, "", precision=precision, ids=ids_of)
        self.stateful = stateful
        self.keep_sentence_boundaries = keep_sentence_boundaries
        self._last_states: list[State] = []  # after the last call
        self._dropout = nn.Dropout(dropout)
        for number in range(num_output_representations):
            mix = PublishedMix(
                layers, layer_norm=do_layer_norm, fixed=scalar_mix_parameters
            )
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
        self._last_states = []

    @uncompiled
    def forward(
        self, inputs: Tensor, word_inputs: Tensor | None = None
    ) -> dict[str, Tensor | list[Tensor]]:
        """Ids [B, T, 50] -> `elmo_representations` and `mask`, bool [B, T].

        The ids may have more axes in front. The representations are a list of tensors
        [B, T, 2P], zeros at padding; with `keep_sentence_boundaries` T + 2, `</S>`
        after the last token. `word_inputs` have no effect: words are remembered anyway.
        Raises UserError for other shapes and ids.
        """
        ids = check_ids(inputs)
        front = ids.shape[:-2]
        rows = math.prod(front)
        layers, lengths = self._layers(ids.reshape(rows, *ids.shape[-2:]))
        steps = torch.arange(layers.shape[2], device=layers.device)
        mask = steps < lengths[:, None] + 2  # B(T + 2)
        inside = steps[:-2] < lengths[:, None]  # BT
        representations = []
        for mix in self.mixes:
            mixed = mix(layers, mask)
            if not self.keep_sentence_boundaries:
                mixed = torch.where(inside[..., None], mixed[:, 1:-1], 0)
            mixed = mixed.reshape(*front, *mixed.shape[1:])
            representations.append(self._dropout(mixed))
        if not self.keep_sentence_boundaries:
            mask = inside
        mask = mask.reshape(*front, mask.shape[1])
        return {"elmo_representations": representations, "mask": mask}

    def _layers(self, ids: np.ndarray) -> tuple[Tensor, Tensor]:
        """Ids [B, T, C] -> layers [B, L, T + 2, 2P], and lengths [B].

        The layers include the markers, the lengths do not.
        """
        network, vectors, device = self._network()
        counts = ids.any(axis=2).sum(axis=1)  # B
        lengths = torch.from_numpy(counts).to(device)
        rows, steps = ids.shape[:2]
        if not rows:
            shape = (0, 1 + self.options.layers, steps + 2, self.get_output_dim())
            return torch.zeros(shape, device=device), lengths
        words = np.ascontiguousarray(ids, dtype=ID).view(f"V{len(START)}")
        sentences = []
        words_of_rows = words.reshape(rows, steps).tolist()
        for row, count in zip(words_of_rows, counts, strict=True):
            sentences.append([START, *row[:count], END])
        compute = frozen(layers_of_words)
        if self.bilm is not None and torch.is_grad_enabled():
            compute = layers_of_words

        def start(table: Tensor) -> list[State]:
            return started(self._last_states, self.options, rows, table)

        layers, _, last = compute(network, vectors, sentences, start)
        if self.stateful:
            self._last_states = keep(self._last_states, last)
        short = steps + 2 - layers.shape[2]
        return functional.pad(layers, (0, 0, 0, short)), lengths

    def _network(
        self,
    ) -> tuple[Network, Callable[[Sequence[bytes]], Tensor], torch.device]:
        """The network, the vectors [1 + N, P] of words, and their device.

        It is the device of the mixes.
        """
        device = self.mixes[0].gamma.device
        if self.encoder is not None:
            if self.encoder.device != device:
                self.encoder.to(device)
            return self.encoder.network, self.encoder.vectors, device
        assert self.bilm is not None
        # No cache and no packed copy: the weights as they are now.
        network = BatchedBiLM(self.bilm)

        def vectors(words: Sequence[bytes]) -> Tensor:
            ids = torch.from_numpy(ids_of(words)).to(device)
            return functional.pad(network.characters(ids), (0, 0, 1, 0))

        return network, vectors, device


def _check_mixes(number: int, scalars: Sequence[float] | None, layers: int) -> None:
    if number < 1:
        raise UserError(
            f"num_output_representations={number}: too few. Give 1 or more."
        )
    if scalars is not None and len(scalars) != layers:
        raise UserError(
            f"scalar_mix_parameters={[*scalars]}: wrong length. Give {layers} numbers, "
            "one for each layer."
        )


def _bilm(
    options_file: File,
    weight_file: File,
    module: BiLM | ElmoEncoder | None,
    *,
    trained: bool,
) -> BiLM:
    """The biLM of the files or the module, in float32 on the CPU.

    It is a copy, unless a BiLM is to be trained.
    """
    if module is None and weight_file is not None:
        options = None if options_file is None else str(options_file)
        bilm, _ = load_bilm(str(weight_file), options)
        return bilm
    has_file = options_file is not None or weight_file is not None
    if has_file or not isinstance(module, BiLM | ElmoEncoder):
        raise UserError(
            "weight_file: missing, or given with a module. Give a file with "
            "options_file, options_file=None and a name (mini, original, …), or None "
            "for both and module=: a BiLM or an ElmoEncoder."
        )
    if isinstance(module, ElmoEncoder):
        bilm = module.bilm
    elif trained:
        return module
    else:
        bilm = module
    return copy.deepcopy(bilm).to("cpu", torch.float32)
