"""What frozen encoders share: calls without gradients, devices, and the vectors of words that were seen."""

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.base.errors import UserError

BYTES = 128 * 2**20  # of remembered word vectors
BFLOAT16 = 8, 0  # the compute capability from which GPUs multiply in bfloat16 and TF32

_THREAD = threading.local()
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def frozen(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run a function without gradients, autocast and TF32. Inside such a call, a second one changes no settings.

    The settings are the process's: where threads call such functions, one is around all of them, which restores them.
    Its tensors are ordinary ones under `torch.inference_mode` too, because remembered words outlive a call.
    """

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        if getattr(_THREAD, "frozen", False):
            return function(*arguments, **named)
        plain = torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False)
        with torch.inference_mode(False), torch.no_grad(), plain[0], plain[1], float32_products("ieee"):
            _THREAD.frozen = True
            try:
                return function(*arguments, **named)
            finally:
                _THREAD.frozen = False

    return call


@contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """Products of float32 matrices are exact with `ieee`, and TF32 on a GPU with `tf32`, whatever was set before.

    Convolutions are always exact.
    """
    backends: Any = torch.backends
    places = backends.cuda.matmul, backends.mkldnn.matmul, backends.cudnn.conv, backends.cudnn.rnn
    before = [place.fp32_precision for place in places]
    for place, own in zip(places, (precision, "ieee", "ieee", "ieee"), strict=True):
        place.fp32_precision = own
    try:
        yield
    finally:
        for place, earlier in zip(places, before, strict=True):
            place.fp32_precision = earlier


def device_named(name: str) -> torch.device:
    """A device by torch's name of it, such as cpu or cuda:1. Raises UserError if this machine has no such device."""
    with suppress(RuntimeError, TypeError):
        device = torch.device(name)
        if device.type == "cpu" or (device.type == "cuda" and (device.index or 0) < torch.cuda.device_count()):
            return device
    raise UserError(f"device={name}: no such device here. Use cpu, or cuda where there is a GPU.")


def multiplies_bfloat16(device: torch.device | str) -> bool:
    """Whether a GPU multiplies in bfloat16 and TF32."""
    return torch.cuda.get_device_capability(device) >= BFLOAT16


def moved(device: torch.device, *tensors: Tensor) -> Sequence[Tensor]:
    """Tensors of one type from the CPU to a device, in one copy, during which neither side waits for the other."""
    if device.type == "cpu":
        return tensors
    flat = torch.cat([tensor.flatten() for tensor in tensors]).pin_memory().to(device, non_blocking=True)
    parts = flat.split([tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def described(encoder: Any, weights: str) -> str:
    """An encoder in a line: its kind, weights, layers, dimensions and parameters."""
    size = f"{encoder.layers} layers x {encoder.dim}, {encoder.parameters:,} parameters"
    return f"{type(encoder).__name__}({weights}: {size}, {encoder.device})"


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
        """Vectors [1 + N, P] of N words; row 0 is zeros."""
        with self._lock:
            new = [word for word in words if word not in self._rows]
            if new and len(self._rows) + len(new) > self.limit:
                self._rows, new = {}, list(words)
            if new:
                new = list(dict.fromkeys(new))
                [ids] = moved(self.device, torch.from_numpy(self.ids(new)))
                vectors = self.characters(ids)
                first = 1 + len(self._rows)
                if len(self._table) < first + len(new):
                    table = vectors.new_zeros(2 * (first + len(new)), vectors.shape[1])
                    table[: len(self._table)] = self._table
                    self._table = table
                self._table[first : first + len(new)] = vectors
                self._rows.update(zip(new, range(first, first + len(new)), strict=True))
            numbers = np.fromiter(map(self._rows.__getitem__, words), np.int64, len(words))
            [rows] = moved(self._table.device, functional.pad(torch.from_numpy(numbers), (1, 0)))
            return functional.embedding(rows, self._table)
