"""What a matrix product reaches on this machine, and how many operations the encoder cannot do without."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from elmo_bench.elmo.frozen import float32_products

SIZE, TIMES = 4096, 8


def peak(precision: str, device: str, clock: Callable[[str], float] | None = None) -> float | None:
    """The best of several [4096, 4096] products, in floating-point operations a second; None for integers.

    clock: seconds, given the device; `now` by default.
    """
    clock = clock or now
    if precision == "int8":
        return None
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    matrix, best = torch.randn(SIZE, SIZE, device=device).to(dtype), float("inf")
    with float32_products("tf32" if precision == "tf32" else "ieee"):
        for _ in range(TIMES + 1):  # the first one warms up
            start = clock(device)
            matrix @ matrix
            best = min(best, clock(device) - start)
    return 2 * SIZE**3 / best


def now(device: str) -> float:
    """Seconds; on a GPU after everything that was asked of it."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def lstm_operations(options: Mapping[str, Any], sentences: Sequence[Sequence[str]]) -> int:
    """Of all gates and projections, both directions, no padding; a sentence has two markers more."""
    lstm = options["lstm"]
    gates = 2 * 2 * lstm["projection_dim"] * 4 * lstm["dim"]
    projection = 2 * lstm["dim"] * lstm["projection_dim"]
    steps = sum(len(sentence) + 2 for sentence in sentences)
    return steps * 2 * lstm["n_layers"] * (gates + projection)


def character_operations(options: Mapping[str, Any], sentences: Sequence[Sequence[str]]) -> int:
    """Of the character CNN, each distinct word once, windows that hold a character of it and one of padding."""
    cnn = options["char_cnn"]
    features = sum(number for _, number in cnn["filters"])
    window = 2 * cnn["embedding"]["dim"] * sum(width * number for width, number in cnn["filters"])
    word = cnn["n_highway"] * 2 * features * 2 * features + 2 * features * options["lstm"]["projection_dim"]
    words = {word for sentence in sentences for word in sentence}
    return sum(window * (min(50, len(text.encode()) + 2) + 1) + word for text in words)
