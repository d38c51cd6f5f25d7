"""Our side of a benchmark: fresh encoders, the share of each stage, the reference model, and the layer stores."""

import copy
import importlib
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import gemm
import numpy as np
import torch
from torch import Tensor

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.pretrained import load_bilm
from elmo_bench.encoders.cache import LayerStore
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
        return encoder

    def seconds(self, encoder: ElmoEncoder, calls: Sequence[Sentences]) -> float:
        """Of encoding all calls; results of a call are dropped before the next one."""
        start = gemm.now(self.device)
        for call in calls:
            encoder.encode(call)
        return gemm.now(self.device) - start


def stages(encoder: ElmoEncoder, calls: Sequence[Sentences]) -> dict[str, float]:
    """Seconds of each stage without the stages inside it; on a CPU."""
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
    """The largest and the root mean square difference of two lists of layers, relative to numbers larger than 1."""
    differences = [
        ((ours.float().cpu() - peers).double() / peers.double().abs().clamp(min=1)).flatten()
        for ours, peers in zip(found, wanted, strict=True)
    ]
    count = sum(map(len, differences))
    return (
        max(float(part.abs().max()) for part in differences),
        (sum(float(part.square().sum()) for part in differences) / count) ** 0.5,
    )


class Reference:
    """Takes the peer's place where AllenNLP is not installed.

    Its layers come from `model.py` on the CPU; its time is the batched kernel's, one batch after another.
    """

    def __init__(self, device: str):
        self.device = device

    def __enter__(self) -> "Reference":
        return self

    def __exit__(self, *_: object) -> None:
        return

    @torch.no_grad()
    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """The answers of `PeerProcess.ask`."""
        if do == "load":
            self.encoder = ElmoEncoder(weights=request["weights"], options=request["options"], device=self.device)
            self.encoder.frozen.network = BatchedBiLM(copy.deepcopy(self.encoder.bilm).to(self.device))
            return {"name": "kernels/batched.py"}
        if do == "layers":
            bilm, _ = load_bilm(str(self.encoder.files[1]), str(self.encoder.files[0]))
            marked = [chars.words_ids(["<S>", *sentence, "</S>"]) for sentence in request["sentences"]]
            np.savez(request["file"], *(bilm(torch.from_numpy(ids))[0][:, 1:-1].numpy() for ids in marked))
            return {}
        start = gemm.now(self.device)
        for batch in request["batches"]:
            self.encoder.batch(batch)
        return {"seconds": gemm.now(self.device) - start, "characters_seconds": 0.0, "ids_seconds": 0.0}


def store_rates(ours: Ours, sentences: Sentences, *, batch: int = 32, rounds: int = 5) -> dict[str, float]:
    """Tokens per second of reading an epoch of batches onto the encoder's device from each kind of layer store.

    Each store's batches are checked against the encoder's layers first.
    """
    encoder = ours.fresh()
    texts = sorted({tuple(sentence) for sentence in sentences}, key=len)
    batches = [texts[start : start + batch] for start in range(0, len(texts), batch)]
    tokens, rates = sum(map(len, texts)), {}
    with tempfile.TemporaryDirectory() as folder:
        for mode in ("ram", "disk"):
            for dtype in ("float32", "float16"):
                options = {"folder": f"{folder}/{dtype}"} if mode == "disk" else {}
                store = LayerStore(encoder, mode=mode, dtype=dtype, max_gb=100.0, **options)
                store.fill(texts)
                for layers, wanted in zip(store.batch(batches[-1]), encoder.encode(batches[-1]), strict=True):
                    assert layers.device == wanted.device
                    torch.testing.assert_close(layers[:, : wanted.shape[1]], wanted, atol=0.02, rtol=0.001)
                seconds = []
                for _ in range(rounds):
                    start = gemm.now(ours.device)
                    for some in batches:
                        store.batch(some)
                    seconds.append(gemm.now(ours.device) - start)
                rates[f"store={mode} dtype={dtype} on {encoder.device.type}"] = tokens / statistics.median(seconds)
    return rates
