"""Reading checkpoints, which a kill or a full disk may have damaged."""

import pickle
import struct
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError


def read_checkpoint(path: Path) -> dict[str, Any]:
    """A checkpoint's tensors and plain data, on the CPU; nothing in the file is executed. Raises UserError."""
    import torch  # here, so that `base` can be imported without it

    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    except (OSError, RuntimeError, EOFError, ValueError, struct.error, pickle.UnpicklingError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path}: damaged ({why}). Remove it and start again.") from None
