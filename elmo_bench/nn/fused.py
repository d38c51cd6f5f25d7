"""Chains of element-wise steps as one pass over memory, where a compiler is at hand.

Training spends a third of its time between matrix products: on gates, maxima and log-sum-exps, each of which would be
read from memory and written back. torch.compile makes one loop of such a chain (a kernel, on a GPU).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")

_on = False


def fused(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function of tensors: it runs as it stands until `fuse(True)`, and compiled from then on."""
    compiled: list[Any] = []

    @wraps(function)
    def call(*args, **kwargs):
        if not _on:
            return function(*args, **kwargs)
        if not compiled:
            compiled.append(torch.compile(function))  # imports the compiler, which takes seconds
        return compiled[0](*args, **kwargs)

    return call


def fuse(on: bool) -> str | None:
    """Turn compilation on or off for the whole process; why it stays off, or None."""
    global _on  # noqa: PLW0603  backward passes run in threads of torch's own, which see no context variable
    _on = False
    if on:
        try:
            torch.compile(lambda x: x.exp() + 1)(torch.zeros(64))
        except Exception as error:
            return str(error).strip().splitlines()[0]
        _on = True
    return None
