"""Chains of element-wise operations compiled into one pass over memory, if a compiler is installed.

Training spends a third of its time between matrix products: on gates, maxima and log-sum-exps, each of which would read
from memory and write back. torch.compile turns such a chain into one loop (or one kernel, on a GPU).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")

_on = False


def fused(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of tensors, which runs uncompiled until `fuse(True)`, and compiled after that."""
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
    """Turn compilation on or off for the whole process. Returns why it stays off, or None."""
    global _on  # noqa: PLW0603  backward passes run in threads of torch's own, which see no context variable
    _on = False
    if on:
        try:
            torch.compile(lambda x: x.exp() + 1)(torch.zeros(64))
        except Exception as error:
            return str(error).strip().splitlines()[0]
        _on = True
    return None
