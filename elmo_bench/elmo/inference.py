"""The network that a frozen biLM runs on: packed on a CPU, the module itself elsewhere."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch.backends import cudnn

from elmo_bench.base.errors import UserError
from elmo_bench.elmo import products
from elmo_bench.elmo.bilm import BiLM
from elmo_bench.elmo.packed import PackedBiLM
from elmo_bench.elmo.sentences import Network

PRECISIONS = ("float32", "bfloat16", "int8")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def frozen(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """No gradients, no autocast, no TF32; ordinary tensors under `torch.inference_mode` too: words outlive a call."""

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        plain = torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False)
        exact = cudnn.flags(enabled=cudnn.enabled, deterministic=cudnn.deterministic, allow_tf32=False)  # convolutions
        with torch.inference_mode(False), torch.no_grad(), plain[0], plain[1], exact:
            return function(*arguments, **named)

    return call


def frozen_network(bilm: BiLM, *, precision: str = "float32", device: str = "cpu") -> Network:
    """The fastest form of these weights on this device; raises UserError for a precision that it does not have."""
    if precision not in PRECISIONS:
        raise UserError(f"precision={precision}: choose one of: {', '.join(PRECISIONS)}")
    if torch.device(device).type == "cpu" and products.available():
        return PackedBiLM(bilm, precision)
    if precision == "int8":
        raise UserError(f"precision=int8 runs on a CPU with oneDNN, not on {device}; choose float32 or bfloat16")
    return bilm.to(device, getattr(torch, precision))
