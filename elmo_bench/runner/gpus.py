"""One GPU a process, where several processes share a machine that has several GPUs."""

import os
import tempfile
from pathlib import Path

import torch
from filelock import FileLock, Timeout

_held: FileLock | None = None  # for as long as the process lives


def claim_gpu(folder: Path | None = None) -> str | None:
    """Reserve for this process one GPU that no other process of this project has claimed; its name.

    None, and every GPU stays visible, if the machine shows fewer than two (a scheduler may have chosen one) or all are
    claimed. Must be called before the first use of CUDA. `folder` holds the claims, which end with the process.
    """
    global _held  # noqa: PLW0603
    if _held is not None or torch.cuda.is_initialized() or (count := torch.cuda.device_count()) < 2:
        return None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    names = visible if len(visible) == count else [str(number) for number in range(count)]
    folder = folder or Path(tempfile.gettempdir()) / f"elmo-bench-gpus-{os.getuid()}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        lock = FileLock(folder / f"{name}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            continue
        _held = lock
        os.environ["CUDA_VISIBLE_DEVICES"] = name
        return name
    return None
