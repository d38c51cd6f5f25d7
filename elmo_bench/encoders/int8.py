"""Weights as int8 with a scale for each row: a quarter of float32, in a safetensors layout of our own.

A float tensor of two dimensions, `name` [R, C], is stored as `name` int8 and `name.scale` float32 [R]; row r is
`scale[r] * name[r]`. All other tensors are stored in half precision. The metadata has `format: int8-rows`.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write

FORMAT = "int8-rows"
ENDING = ".int8.safetensors"
_SCALE = ".scale"


def write_int8(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write float tensors by name, atomically."""
    stored = {}
    for name, tensor in tensors.items():
        values = tensor.detach().float().cpu()
        if values.ndim == 2:
            scale = values.abs().amax(dim=1).clamp(min=1e-12) / 127  # R
            stored[name] = torch.round(values / scale[:, None]).to(torch.int8)
            stored[name + _SCALE] = scale
        else:
            stored[name] = values.half().contiguous()
    with atomic_write(path) as file:
        file.write(save(stored, metadata={"format": FORMAT}))


def read_int8(path: Path) -> dict[str, Tensor]:
    """The float32 tensors of a file that `write_int8` wrote. Raises UserError if it is not one, or is cut off."""
    try:
        with safe_open(path, framework="pt") as file:
            if (file.metadata() or {}).get("format") != FORMAT:
                raise UserError(f"{path}: its metadata has no format={FORMAT}. Save the model again.")
            stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a safetensors file, or cut off ({error}). Save or fetch it again.") from None
    return {
        name: _row_values(path, name, tensor, stored.get(name + _SCALE)) if tensor.ndim == 2 else tensor.float()
        for name, tensor in stored.items()
        if not name.endswith(_SCALE)
    }


def _row_values(path: Path, name: str, tensor: Tensor, scale: Tensor | None) -> Tensor:
    if tensor.dtype != torch.int8 or scale is None or scale.shape != tensor.shape[:1]:
        raise UserError(f"{path}: {name} has no scale for each row. Save the model again.")
    return tensor.float() * scale.float()[:, None]
