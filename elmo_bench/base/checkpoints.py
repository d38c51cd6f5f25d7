"""Checkpoints: written atomically, and read with care, since a kill or a disk may have damaged them."""

import pickle
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write


def write_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write tensors and plain data atomically. Raises UserError if the disk refuses."""
    import torch  # here, so that `base` can be imported without it

    with atomic_write(path) as file:
        torch.save(dict(state), file)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint's tensors and plain data, on the CPU; nothing in the file is executed. Raises UserError."""
    import torch

    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    except (OSError, RuntimeError, EOFError, ValueError, struct.error, pickle.UnpicklingError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path}: damaged ({why}). Remove it and start again.") from None
