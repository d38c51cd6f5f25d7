"""Weights as int8 with a scale for each output, in a safetensors layout of our own: a quarter of the size of float32.

A large tensor `name` is stored as `name` int8 and `name.scale` float32. The scale has size 1 along every axis but the
axis of the outputs (`[R, 1]` for a matrix with an output per row), so the values are `name * name.scale` by
broadcasting. Other tensors are stored as float16.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import AGAIN, reader, reading

ENDING = ".int8.safetensors"
SMALL = 8192  # numbers: tensors up to this size stay in float16
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_SCALE = ".scale"


def quantised(tensors: Mapping[str, Tensor], dtype: torch.dtype = torch.int8, *, axis: int = 0) -> dict[str, Tensor]:
    """Float tensors as they are stored: in `dtype`; with int8 as above, the largest number of an output is 127 or -127.

    `axis` is the axis of the outputs in tensors of two or more dimensions. Raises UserError if a number is not finite
    in the file.
    """
    stored = {}
    for name, tensor in tensors.items():
        values = tensor.detach().float().cpu()
        if dtype == torch.int8 and values.ndim >= 2 and values.numel() > SMALL:
            others = [other for other in range(values.ndim) if other != axis % values.ndim]
            scale = values.abs().amax(dim=others, keepdim=True).clamp(min=1e-12) / 127
            stored[name] = torch.round(values / scale).to(torch.int8).contiguous()
            stored[name + _SCALE] = scale
        else:
            stored[name] = values.to(torch.float16 if dtype == torch.int8 else dtype).contiguous()
    if wrong := [name for name, values in stored.items() if not values.isfinite().all()]:
        raise UserError(f"{wrong[0]}: has numbers that {dtype} cannot hold. Store float32.")
    return stored


@reader
def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file, by name, in float32; int8 tensors are multiplied by their scales.

    Raises UserError if the file cannot be read, has another type of numbers, a number is not finite, or a scale is
    missing or does not fit its tensor.
    """
    with reading(path, "a readable safetensors file"), safe_open(path, framework="pt") as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping
    scales = {name + _SCALE for name, tensor in stored.items() if tensor.dtype == torch.int8}
    tensors = {}
    for name in (name for name in stored if name not in scales):
        where, values = f"{path}: '{name}'", stored[name]
        if values.dtype == torch.int8:
            scale: Any = stored.get(name + _SCALE)
            wrong = scale is None or scale.dtype not in FLOATS or scale.ndim != values.ndim
            if wrong or any(one not in (1, all_) for one, all_ in zip(scale.shape, values.shape, strict=True)):
                raise UserError(f"{where} is int8 without a '{_SCALE}' that fits its shape {[*values.shape]}. {AGAIN}")
            values = values.float() * scale.float()
        elif values.dtype not in FLOATS:
            raise UserError(f"{where} holds {values.dtype}, expected floating-point numbers or int8. {AGAIN}")
        tensors[name] = values.float()
        if not tensors[name].isfinite().all():
            raise UserError(f"{where} has numbers that are not finite. {AGAIN}")
    return tensors
