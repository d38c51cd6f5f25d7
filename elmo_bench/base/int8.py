"""Weights as int8 with a scale for each output: a quarter of the size of float32.

The safetensors layout is our own. A large tensor `name` is stored as `name` int8 and
`name.scale` float32. The scale has size 1 along every axis but the axis of the outputs
(`[R, 1]` for a matrix with an output per row), so the values are `name * name.scale` by
broadcasting. Other tensors are stored as float16.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.reading import AGAIN, reader, reading

ENDING = ".int8.safetensors"
SMALL = 8192  # numbers: tensors up to this size stay in float16
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_SCALE = ".scale"


def quantised(
    tensors: Mapping[str, Tensor], dtype: torch.dtype = torch.int8, *, axis: int = 0
) -> dict[str, Tensor]:
    """Float tensors as they are stored: in `dtype`, with int8 as above.

    With int8 the largest number of an output is 127 or -127. `axis` is the axis of the
    outputs in tensors of two or more dimensions. Raises UserError if a number is not
    finite in the file.
    """
    is_int8 = dtype == torch.int8
    stored = {}
    for name, tensor in tensors.items():
        values = tensor.detach().float().cpu()
        if is_int8 and values.ndim >= 2 and values.numel() > SMALL:
            output_axis = axis % values.ndim
            others = [other for other in range(values.ndim) if other != output_axis]
            largest = values.abs().amax(dim=others, keepdim=True)
            scale = largest.clamp(min=1e-12) / 127
            stored[name] = torch.round(values / scale).to(torch.int8).contiguous()
            stored[name + _SCALE] = scale
        else:
            small_dtype = torch.float16 if is_int8 else dtype
            stored[name] = values.to(small_dtype).contiguous()
    for name, values in stored.items():
        if not values.isfinite().all():
            raise UserError(
                f"{name}: has numbers that {dtype} cannot hold. Store float32."
            )
    return stored


@reader
def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file, by name, in float32.

    int8 tensors are multiplied by their scales. Raises UserError if the file cannot be
    read, has another type of numbers, a number is not finite, or a scale is missing or
    does not fit its tensor.
    """
    stored = {}
    with (
        reading(path, "a readable safetensors file"),
        safe_open(path, framework="pt") as file,
    ):
        for name in file.keys():  # noqa: SIM118  not a mapping
            stored[name] = file.get_tensor(name)
    scales = set()
    for name, values in stored.items():
        if values.dtype == torch.int8:
            scales.add(name + _SCALE)
    tensors = {}
    for name, values in stored.items():
        if name not in scales:
            scale = stored.get(name + _SCALE)
            tensors[name] = _float32(values, scale, f"{path}: '{name}'")
    return tensors


def _float32(values: Tensor, scale: Tensor | None, where: str) -> Tensor:
    """A stored tensor in float32. Raises UserError."""
    if values.dtype == torch.int8:
        if scale is None or not _fits(scale, values):
            raise UserError(
                f"{where} is int8 without a '{_SCALE}' that fits its shape "
                f"{[*values.shape]}. {AGAIN}"
            )
        values = values.float() * scale.float()
    elif values.dtype not in FLOATS:
        raise UserError(
            f"{where} holds {values.dtype}, "
            f"expected floating-point numbers or int8. {AGAIN}"
        )
    values = values.float()
    if not values.isfinite().all():
        raise UserError(f"{where} has numbers that are not finite. {AGAIN}")
    return values


def _fits(scale: Tensor, values: Tensor) -> bool:
    if scale.dtype not in FLOATS or scale.ndim != values.ndim:
        return False
    sizes = zip(scale.shape, values.shape, strict=True)
    return all(size in (1, full_size) for size, full_size in sizes)
