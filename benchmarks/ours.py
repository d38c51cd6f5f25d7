"""Our side of a benchmark: fresh encoders, batches, and the share of each stage, measured from outside."""

import importlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import gemm
from torch import Tensor

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.text import chars

Sentences = Sequence[Sequence[str]]
WARM_UP = ["ʘ"] * 8  # a word that no text has: caches of words stay empty but for it
# A stage and where its work is called, on the encoder; whatever is not there (any more) counts to what surrounds it.
STAGES = [
    ("character CNN", "frozen.vectors.characters"),
    ("LSTM, the rest", "frozen.network.contextual"),
]
# The same, of the LSTM: functions of modules, and products that packed layers hold.
LOOPS = [("recurrent loop", "elmo_bench.elmo.kernels.recurrence", "run")]
PRODUCTS = {
    "both": "step products",
    "recurrent": "step products",
    "input": "input projections",
    "projection": "output projections",
}
REST = "ids, sorting, assembling"


class Ours:
    """The encoder with one folder of weights, in one precision."""

    def __init__(self, weights: Path, *, precision: str, device: str):
        self.options: dict[str, Any] = {"weights": str(weights), "device": device}
        if precision != "float32":
            self.options["precision"] = precision
        self.device = device

    def fresh(self) -> ElmoEncoder:
        """An encoder that has seen no word yet, its weights packed and its kernels chosen."""
        encoder = ElmoEncoder(**self.options)
        for rows in (128, 4, 1):
            encoder.encode([WARM_UP] * rows)
        chars.word_ids.cache_clear()
        return encoder

    def seconds(self, encoder: ElmoEncoder, calls: Sequence[Sentences]) -> float:
        """Of encoding all calls; results of a call are dropped before the next one."""
        start = gemm.now(self.device)
        for call in calls:
            encoder.encode(call)
        return gemm.now(self.device) - start


def stages(encoder: ElmoEncoder, calls: Sequence[Sentences]) -> dict[str, float]:
    """Seconds of each stage, without those of stages inside it; on a CPU."""
    clock = _Clock()
    patches = [clock.patch(owner, name, stage) for stage, owner, name in _places(encoder)]
    for patch in patches:
        patch.start()
    try:
        clock.timed(REST, lambda: [encoder.encode(call) for call in calls])()
    finally:
        for patch in patches:
            patch.stop()
    return {stage: seconds for stage, seconds in clock.seconds.items() if seconds}


def _places(encoder: ElmoEncoder) -> Iterator[tuple[str, Any, str]]:
    """(stage, owner, attribute) of every place that exists and can be called."""
    for stage, path in STAGES:
        *owners, name = path.split(".")
        owner: Any = encoder
        for part in owners:
            owner = getattr(owner, part, None)
        if callable(getattr(owner, name, None)):
            yield stage, owner, name
    for stage, module, name in LOOPS:
        if callable(getattr(importlib.import_module(module), name, None)):
            yield stage, importlib.import_module(module), name
    for layer in getattr(encoder.frozen.network, "lstms", []):
        for direction in layer if isinstance(layer, Sequence) else []:
            for name, stage in PRODUCTS.items():
                if callable(getattr(direction, name, None)):
                    yield stage, direction, name


class _Clock:
    """Seconds by stage; inside a stage the clock of the one around it stands still."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.running: list[str] = []
        self.since = 0.0

    def patch(self, owner: Any, name: str, stage: str) -> Any:
        return mock.patch.object(owner, name, self.timed(stage, getattr(owner, name)))

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._switch()
            self.running.append(stage)
            try:
                return function(*arguments, **named)
            finally:
                self._switch()
                self.running.pop()

        return call

    def _switch(self) -> None:
        now = time.perf_counter()
        if self.running:
            self.seconds[self.running[-1]] += now - self.since
        self.since = now


def worst_and_rms(found: Sequence[Tensor], wanted: Sequence[Tensor]) -> tuple[float, float]:
    """The largest and the root mean square difference of two lists of layers."""
    differences = [(ours.float().cpu() - peers).double().flatten() for ours, peers in zip(found, wanted, strict=True)]
    count = sum(map(len, differences))
    return (
        max(float(part.abs().max()) for part in differences),
        (sum(float(part.square().sum()) for part in differences) / count) ** 0.5,
    )
