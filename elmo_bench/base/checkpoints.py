"""Checkpoints: written atomically, and read with care, since a kill or a disk may have damaged them."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmo_bench.base.files import atomic_write
from elmo_bench.base.reading import reader, reading


def write_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write tensors and plain data atomically. Raises UserError if the disk refuses."""
    import torch  # here, so that `base` can be imported without it

    with atomic_write(path) as file:
        torch.save(dict(state), file)


@reader
def read_checkpoint(path: Path, advice: str = "Remove it and start again.") -> dict[str, Any]:
    """A checkpoint's tensors and plain data, on the CPU; nothing in the file is executed. Raises UserError."""
    import torch

    with reading(path, "a checkpoint", advice):
        with zipfile.ZipFile(path) as archive:  # torch writes checksums, but does not check them
            if (name := archive.testzip()) is not None:
                raise ValueError(f"the checksum of {name} is wrong")
        found = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(found, dict):
            raise TypeError("not a mapping")
    return found
