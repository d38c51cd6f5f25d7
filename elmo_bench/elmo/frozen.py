"""What frozen encoders share: calls without gradients, devices, remembered words."""

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
BFLOAT16 = (8, 0)  # compute capability from which GPUs multiply in bfloat16 and TF32

_THREAD = threading.local()
_PRODUCTS = threading.RLock()  # held where products have another precision
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def frozen(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run a function without gradients, autocast, TF32 and `torch.compile`.

    Inside such a call, a second one changes no settings. Its tensors are ordinary ones
    under `torch.inference_mode` too, because remembered words outlive a call.
    """

    @uncompiled
    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        if getattr(_THREAD, "frozen", False):
            return function(*arguments, **named)
        with (
            torch.inference_mode(False),
            torch.no_grad(),
            torch.autocast("cpu", enabled=False),
            torch.autocast("cuda", enabled=False),
            _EXACT,
        ):
            _THREAD.frozen = True
            try:
                return function(*arguments, **named)
            finally:
                _THREAD.frozen = False

    return call


def uncompiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run a function uncompiled in a model that `torch.compile` compiles.

    Its work with numpy and with remembered words cannot be traced. The decorator of
    torch would import the compiler, which takes seconds, in every program.
    """

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        if torch.compiler.is_compiling():
            return torch.compiler.disable(function)(*arguments, **named)
        return function(*arguments, **named)

    return call


def _settings() -> tuple[Any, ...]:
    """torch's settings of the precision of float32, the matrix products' first."""
    backends: Any = torch.backends
    others = (backends.mkldnn.matmul, backends.cudnn.conv, backends.cudnn.rnn)
    return (backends.cuda.matmul, *others)


def _set(precisions: Sequence[str]) -> list[str]:
    """Set the precisions of `_settings`; returns those before."""
    settings = _settings()
    before = [setting.fp32_precision for setting in settings]
    for setting, precision in zip(settings, precisions, strict=True):
        setting.fp32_precision = precision
    return before


@contextmanager
def float32_products(precision: str) -> Iterator[None]:
    """Products of float32 matrices are exact with `ieee`, whatever was set before.

    With `tf32` they are TF32 on a GPU. Convolutions are always exact. The settings are
    the process's, so one thread at a time runs such a block.
    """
    with _PRODUCTS:
        before = _set([precision, "ieee", "ieee", "ieee"])
        try:
            yield
        finally:
            _set(before)


class _ExactProducts:
    """`float32_products("ieee")` for any number of threads at once.

    The first block that begins changes the settings, which are the process's, and the
    last one that ends restores them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._before: list[str] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._blocks == 0:
                self._before = _set(["ieee"] * 4)
            self._blocks += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._blocks -= 1
            if self._blocks == 0:
                _set(self._before)


_EXACT = _ExactProducts()


def device_named(name: str) -> torch.device:
    """A device by torch's name of it, such as cpu or cuda:1.

    Raises UserError if this machine has no such device.
    """
    with suppress(RuntimeError, TypeError):
        device = torch.device(name)
        if device.type == "cpu":
            return device
        number = device.index or 0
        if device.type == "cuda" and number < torch.cuda.device_count():
            return device
    raise UserError(
        f"device={name}: no such device here. Use cpu, or cuda where there is a GPU."
    )


def multiplies_bfloat16(device: torch.device | str) -> bool:
    """Whether a GPU multiplies in bfloat16 and TF32."""
    return torch.cuda.get_device_capability(device) >= BFLOAT16


def moved(device: torch.device, *tensors: Tensor) -> Sequence[Tensor]:
    """Tensors of one type from the CPU to a device, in one copy.

    Neither side waits for the other.
    """
    if device.type == "cpu":
        return tensors
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    flat = flat.pin_memory().to(device, non_blocking=True)
    parts = flat.split([tensor.numel() for tensor in tensors])
    return [
        part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)
    ]


def described(encoder: Any, weights: str) -> str:
    """An encoder in a line: its kind, weights, layers, dimensions and parameters."""
    kind = type(encoder).__name__
    size = f"{encoder.layers} layers x {encoder.dim}"
    parameters = f"{encoder.parameters:,} parameters"
    return f"{kind}({weights}: {size}, {parameters}, {encoder.device})"


class WordVectors:
    """Context-independent vectors of words, each computed once.

    Threads may share it; when it is full it starts over. `characters` turns ids [N, C]
    into vectors [N, P]; `ids` turns words into ids.
    """

    def __init__(
        self,
        characters: Callable[[Tensor], Tensor],
        ids: Callable[[Sequence[Any]], np.ndarray],
        *,
        dim: int,
        device: torch.device,
    ):
        self.characters = characters
        self.ids = ids
        self.device = device
        self.limit = BYTES // (4 * dim)
        self._lock = threading.Lock()
        self._table = torch.zeros(1, dim, device=device)  # row 0 is padding
        self._rows: dict[Hashable, int] = {}

    def __call__(self, words: Sequence[Hashable]) -> Tensor:
        """Vectors [1 + N, P] of N words; row 0 is zeros."""
        with self._lock:
            new = [word for word in words if word not in self._rows]
            if new and len(self._rows) + len(new) > self.limit:
                self._rows = {}
                new = list(words)
            if new:
                self._add(list(dict.fromkeys(new)))
            numbers = map(self._rows.__getitem__, words)
            rows = torch.from_numpy(np.fromiter(numbers, np.int64, len(words)))
            [rows] = moved(self._table.device, functional.pad(rows, (1, 0)))
            return functional.embedding(rows, self._table)

    def _add(self, words: Sequence[Hashable]) -> None:
        """Compute the vectors of distinct words that are not in the table."""
        [ids] = moved(self.device, torch.from_numpy(self.ids(words)))
        vectors = self.characters(ids)
        first = 1 + len(self._rows)
        end = first + len(words)
        if len(self._table) < end:
            table = vectors.new_zeros(2 * end, vectors.shape[1])
            table[: len(self._table)] = self._table
            self._table = table
        self._table[first:end] = vectors
        self._rows.update(zip(words, range(first, end), strict=True))
