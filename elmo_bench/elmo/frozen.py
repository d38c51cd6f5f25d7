"""A biLM that nothing can train: its weights, the network that runs them, and the words that it has seen."""

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial, wraps
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.backends import cudnn

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.kernels import fastest
from elmo_bench.elmo.model import BiLM
from elmo_bench.text.chars import words_ids

BYTES = 128 * 2**20  # of remembered word vectors

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def frozen(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run a function without gradients, autocast and TF32.

    Its tensors are ordinary ones under `torch.inference_mode` too, because remembered words outlive a call.
    """

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        plain = torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False)
        exact = cudnn.flags(enabled=cudnn.enabled, deterministic=cudnn.deterministic, allow_tf32=False)
        with torch.inference_mode(False), torch.no_grad(), plain[0], plain[1], exact:
            return function(*arguments, **named)

    return call


def device_named(name: str) -> torch.device:
    """A device by torch's name of it, such as cpu or cuda:1. Raises UserError if this machine has no such device."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"device={name}: no such device. Use cpu or cuda.") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UserError(f"device={name}: no such CUDA device here. Use device=cpu.")
    return device


def described(encoder: Any, weights: str) -> str:
    """An encoder in a line: its kind, weights, layers, dimensions and parameters."""
    size = f"{encoder.layers} layers x {encoder.dim}, {encoder.parameters:,} parameters"
    return f"{type(encoder).__name__}({weights}: {size}, {encoder.device})"


class FrozenBiLM:
    """The weights in float32 on the CPU (`bilm`), and a network with them on a device (`network`, `vectors`).

    It is not a module, so parameters(), train(), apply() and state_dict() of a module that holds it do not reach it.
    Copies share the weights; a pickle holds nothing else. `ids` turns words, in the form that `vectors` gets them, into
    character ids [N, C].
    """

    def __init__(
        self,
        bilm: BiLM,
        *,
        precision: str = "float32",
        device: str = "cpu",
        ids: Callable[[Sequence[Any]], np.ndarray] = words_ids,
    ):
        self.bilm, self.options, self.precision, self.ids = bilm, bilm.options, precision, ids
        self.to(device_named(device))

    def to(self, device: torch.device) -> None:
        """Run on this device from now on. Remembered words are forgotten."""
        self.device = device
        self.network = fastest(self.bilm, precision=self.precision, device=str(device))
        self.vectors = WordVectors(self.network.characters, self.ids, dim=self.options.projection_dim, device=device)

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), precision=self.precision, ids=self.ids), (self.bilm,)


class WordVectors:
    """Context-independent vectors of words, each computed once. Threads may share it; when it is full it starts over.

    `characters` turns ids [N, C] into vectors [N, P]; `ids` turns words into ids.
    """

    def __init__(
        self,
        characters: Callable[[Tensor], Tensor],
        ids: Callable[[Sequence[Any]], np.ndarray],
        *,
        dim: int,
        device: torch.device,
    ):
        self.characters, self.ids, self.device = characters, ids, device
        self.limit = BYTES // (4 * dim)
        self._lock = threading.Lock()
        self._table = torch.zeros(1, dim, device=device)  # row 0 is padding
        self._rows: dict[Hashable, int] = {}

    def __call__(self, words: Sequence[Hashable]) -> Tensor:
        """Vectors [1 + N, P] of N distinct words; row 0 is zeros."""
        with self._lock:
            new = [word for word in words if word not in self._rows]
            if new and len(self._rows) + len(new) > self.limit:
                self._rows, new = {}, list(words)
            if new:
                vectors = self.characters(torch.from_numpy(self.ids(new)).to(self.device))
                if len(new) > self.limit:
                    return torch.cat([torch.zeros_like(vectors[:1]), vectors])
                self._remember(new, vectors)
            rows = torch.tensor([0, *(self._rows[word] for word in words)])
            return self._table[rows.to(self._table.device)]

    def _remember(self, words: Sequence[Hashable], vectors: Tensor) -> None:
        filled = 1 + len(self._rows)
        if len(self._table) < filled + len(words):
            table = vectors.new_zeros(min(2 * (filled + len(words)), 1 + self.limit), vectors.shape[1])
            table[: len(self._table)] = self._table
            self._table = table
        self._table[filled : filled + len(words)] = vectors
        self._rows.update(zip(words, range(filled, filled + len(words)), strict=True))
