"""Where the processor time of a head's training step goes, part by part; `heads.py --parts` prints it.

The parts add up to the step: time within a part that is nested in another part counts for the inner alone. Backward
passes of recurrent layers are measured between torch's hooks on their modules. A dev evaluation is measured on some of
its batches; its row is the whole evaluation divided by the training steps of an epoch.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

PARTS = (
    "collate",
    "frozen layers",
    "embedder",
    "recurrence",
    "other forward",
    "loss",
    "backward: recurrence",
    "backward: rest",
    "clipping",
    "optimiser",
)
DEV = "dev evaluation"
RECURRENT = ("BiLstm", "BiGru", "CoupledBiLstm", "AlternatingLstm")
DEV_BATCHES = 12


class Parts:
    """Processor seconds by part."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._since = 0.0

    def enter(self, part: str) -> None:
        self._charge()
        self._open.append(part)

    def leave(self) -> None:
        self._charge()
        self._open.pop()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self.enter(name)
        yield
        self.leave()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose calls count for the part."""

        def run(*arguments: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*arguments, **options)

        return run

    def watch(self, module: nn.Module, name: str, backward: str | None = None) -> None:
        """Count the module's forward passes for a part, and its backward passes for another."""
        module.forward = self.timed(name, module.forward)
        if backward:
            module.register_full_backward_pre_hook(lambda *_: self.enter(backward))
            module.register_full_backward_hook(lambda *_: self.leave())

    def _charge(self) -> None:
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


def profile(build: Callable[[], Any], steps: int) -> dict[str, float]:
    """Milliseconds a step by part, with DEV. `build` gives a `heads.Steps` with at least twice as many batches."""
    from elmo_bench.encoders.cache import LayerStore

    parts = Parts()
    with patch.object(LayerStore, "batch", parts.timed("frozen layers", LayerStore.batch)):
        training = build()
        head = training.module.head
        head.embedder.output = parts.timed("embedder", head.embedder.output)
        parts.watch(head.embedder, "embedder")
        for module in head.modules():
            if type(module).__name__ in RECURRENT:
                parts.watch(module, "recurrence", "backward: recurrence")
        parts.watch(head, "other forward")
        for _ in range(steps):  # warms up
            _step(training, parts)
        parts.seconds.clear()
        for _ in range(steps):
            _step(training, parts)
        means = {name: 1e3 * parts.seconds[name] / steps for name in PARTS}
        means[DEV] = 1e3 * _evaluation(training) / training.epoch
    return means


def _step(training: Any, parts: Parts) -> None:
    """One training step, as `Steps.step`."""
    module, head = training.module, training.module.head
    with parts.part("collate"):
        batch = training.read()
    with parts.part("optimiser"):
        training.optimiser.zero_grad()
    with parts.part("loss"):
        loss = head.loss(batch) + head.embedder.regularisation()
    with parts.part("backward: rest"):
        loss.backward()
    if training.clip:
        with parts.part("clipping"):
            nn.utils.clip_grad_norm_(module.parameters(), training.clip)
    with parts.part("optimiser"):
        training.optimiser.step()


@torch.no_grad()
def _evaluation(training: Any) -> float:
    """Seconds of one dev evaluation, from a sample of its batches, spread over the lengths."""
    module = training.module
    module.eval()
    loader = training.loaders.loader("dev")
    batches = list(loader.sampler)
    sample = list(islice(batches, 0, None, max(1, len(batches) // DEV_BATCHES)))
    training.fill(loader.dataset, sample)
    gold, predicted = [], []
    before = time.process_time()
    for numbers in sample:
        predicted += module.head.predict(loader.dataset[numbers])
    seconds = time.process_time() - before
    for numbers in sample:
        gold += [loader.dataset.examples[number].gold for number in numbers]
    before = time.process_time()
    module.metric.counts(gold, predicted)
    seconds += time.process_time() - before
    module.train()
    return seconds * len(batches) / len(sample)
