"""Whether a machine has the memory to tune an encoder: asked before training begins.

In bytes, in float32:

    4 · (numbers of the network + 3 · numbers that are trained) + activations + freed

since each trained number has a gradient and the two moments of AdamW. Activations are
what a forward pass keeps for the backward pass. Of a sentence of s words they are
a · s + b · s², where attention makes b: a and b are measured, on two sentences of the
batch's words. The batch is the largest of the training split. On a CPU the process
keeps half a GiB of what was freed (`keep_freed_memory`). The head is not in the sum,
nor what an operation needs while it runs. docs/other-encoders.md has the measured peak.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

import torch
from torch import Tensor, nn

from elmo_bench.base.errors import UserError
from elmo_bench.base.memory import available_memory, free_gpu_memory
from elmo_bench.encoders.tuning import Tuned

BYTES = 4  # of a number
# Words of the two sentences. Transformers read a longer one in parts.
SHORT, LONG = 24, 96
GIB = 2**30
KEPT_FREED = 2**29


def check_memory(
    tuned: Tuned | None, examples: Sequence[Any], *, size: int, tokens: int
) -> None:
    """Raise UserError if training on these examples takes more memory than there is.

    tuned: what is trained of the encoder; nothing is asked for a frozen one (None).
    size and tokens: of a batch, as in `largest_batch`.
    The network's numbers are in memory already, so they are no part of what is missing.
    """
    if tuned is None:
        return
    batch = largest_batch(examples, size=size, tokens=tokens)
    needed = still_needed(tuned, batch)
    free = _available(tuned)
    if needed > free:
        raise UserError(
            f"encoder.contextual.tune={tuned.way}: training takes about "
            f"{needed / GIB:.1f} GiB more, {3 * BYTES * tuned.count / GIB:.1f} of them "
            f"for gradients and moments, and {free / GIB:.1f} GiB are available. Lower "
            "task.training.batch, or choose another way or encoder."
        )


def largest_batch(
    examples: Sequence[Any], *, size: int, tokens: int
) -> list[Sequence[str]]:
    """The texts of the longest examples that one batch can have.

    At most `size` examples and, with padding, `tokens` tokens; at least one example.
    """
    by_length = sorted(examples, key=_words_of, reverse=True)
    longest = _words_of(by_length[0])
    count = max(1, min(size, tokens // max(1, longest)))
    texts: list[Sequence[str]] = []
    for example in by_length[:count]:
        texts += example.texts
    return texts


def _words_of(example: Any) -> int:
    return sum(map(len, example.texts))


def still_needed(tuned: Tuned, batch: Sequence[Sequence[str]]) -> float:
    """The bytes that training takes beyond the network, which is in memory."""
    on_gpu = _device(tuned).type == "cuda"
    freed = 0 if on_gpu else KEPT_FREED
    return 3 * BYTES * tuned.count + activations(tuned, batch) + freed


def activations(tuned: Tuned, batch: Sequence[Sequence[str]]) -> float:
    """The bytes that a forward pass of these sentences keeps."""
    names = [word for text in batch for word in text] or ["a"]
    words = list(islice(cycle(names), LONG))
    short, long = kept(tuned, words[:SHORT]), kept(tuned, words)
    square = (long / LONG - short / SHORT) / (LONG - SHORT)
    square = max(0.0, square)
    linear = short / SHORT - square * SHORT
    total = 0.0
    for text in batch:
        whole, rest = divmod(len(text), 4 * LONG)
        for count in [*[4 * LONG] * whole, rest]:
            total += linear * count + square * count**2
    return total


def kept(tuned: Tuned, sentence: Sequence[str]) -> int:
    """The bytes that a forward pass of one sentence keeps for the backward pass.

    No number of the run is drawn, and nothing of the network changes.
    """
    numbers = {tensor.untyped_storage().data_ptr() for tensor in _of_network(tuned)}
    sizes: dict[int, int] = {}
    held = []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in numbers:
            sizes[storage.data_ptr()] = storage.nbytes()
            held.append(tensor)  # so that no other tensor gets its address
        return tensor

    def unpack(tensor: Tensor) -> Tensor:
        return tensor

    with _as_in_training(tuned), torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        layers = tuned([sentence])
        sizes[layers.untyped_storage().data_ptr()] = layers.untyped_storage().nbytes()
    return sum(sizes.values())


@contextmanager
def _as_in_training(tuned: Tuned) -> Iterator[None]:
    """With dropout and gradients, as in a step that trains the encoder."""
    learns, rests = tuned.training, tuned.rests
    device = _device(tuned)
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices), torch.enable_grad():
        tuned.train()
        tuned.rests = False
        try:
            yield
        finally:
            tuned.train(learns)
            tuned.rests = rests


def _of_network(tuned: Tuned) -> Iterator[Tensor]:
    network: nn.Module = tuned.network
    yield from network.parameters()
    yield from network.buffers()


def _device(tuned: Tuned) -> torch.device:
    return next(tuned.parameters()).device


def _available(tuned: Tuned) -> float:
    """The bytes that this process may still take where the network is."""
    device = _device(tuned)
    return free_gpu_memory(device) if device.type == "cuda" else available_memory()
