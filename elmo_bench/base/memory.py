"""What memory this machine has to spare, and what processes take. Importable without
torch."""

import ctypes
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from elmo_bench.base.machine import PROC, control_groups, read_system


def available_memory() -> int:
    """Bytes that processes may still take without swapping.

    Also within the limits of the container and of a job of Slurm or systemd.
    """
    available = _value(PROC / "meminfo", "MemAvailable:") * 1024
    free = available or 2**62
    for folder in control_groups():
        limit = read_system(folder / "memory.max").strip()
        if limit.isdigit():
            current = int(read_system(folder / "memory.current").strip() or 0)
            cached = _value(folder / "memory.stat", "inactive_file")
            free = min(free, int(limit) - current + cached)
    return max(0, free)


def resident_memory(pid: int) -> int:
    """Bytes of memory that a process holds.

    0 if it has ended or the system does not tell.
    """
    pages = read_system(PROC / str(pid) / "statm").split()
    if len(pages) < 2:
        return 0
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE")


def forget_peak_memory() -> None:
    """Measure `peak_memory` anew, where the system can, and the peak of a GPU."""
    with suppress(OSError):
        (PROC / "self" / "clear_refs").write_text("5", encoding="ascii")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.reset_peak_memory_stats()


def peak_memory() -> int:
    """The most bytes of memory that this process has held since `forget_peak_memory`,
    mapped files included."""
    peak = _value(PROC / "self" / "status", "VmHWM:")
    if peak:
        return peak * 1024
    # Where there is no /proc. A child process may count its parent's peak, too.
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def keep_freed_memory() -> None:
    """Let this process keep up to half a gigabyte of freed memory for the next tensors.

    Does nothing without glibc. By default most tensors above 128 KiB are mapped afresh,
    and the system clears each of their pages at its first use, which took a tenth of a
    training step (benchmarks/README.md). No number changes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library or system
        return
    # M_MMAP_THRESHOLD: smaller blocks are not mapped. The largest value that every
    # version accepts.
    mallopt(-3, 2**25)
    # M_TRIM_THRESHOLD: bytes that may be free at the end of the heap.
    mallopt(-1, 2**29)


def free_gpu_memory(device: Any) -> float:
    """The bytes that this process can still take of a GPU.

    `launcher.jobs` gives each run a share.
    """
    import torch

    free, total = torch.cuda.mem_get_info(device)
    # torch refuses a device without a number here.
    fraction = torch.cuda.get_per_process_memory_fraction(device.index)
    return min(free, fraction * total - torch.cuda.memory_reserved(device))


def _value(path: Path, key: str) -> int:
    """The number after a key in a file of the system; 0 if it is not there."""
    number = re.search(rf"^{key}\s+(\d+)", read_system(path), re.MULTILINE)
    return int(number[1]) if number else 0
