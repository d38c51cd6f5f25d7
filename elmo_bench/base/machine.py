"""What this machine has to spare: processor cores, memory, GPUs. Imports no torch."""

import ctypes
import math
import os
import platform
import sys
import time
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def cores() -> int:
    """The cores that this process may use: its affinity, or less if its container has a smaller quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _read(_CGROUP / "cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        usable = min(usable, math.ceil(int(quota) / int(period)))
    return max(1, usable)


def processor() -> str:
    """The processor's model name; the architecture if the system does not report it."""
    lines = [line.partition(":") for line in _read(_PROC / "cpuinfo").splitlines()]
    models = [value.strip() for key, _, value in lines if key.strip() == "model name"]
    return (models and models[0]) or platform.processor() or platform.machine()


def free_cores(seconds: float = 0.3) -> int:
    """How many of `cores()` other processes leave idle, measured over so many seconds; at least 1."""
    before = _idle()
    time.sleep(seconds)
    after = _idle()
    busy = sum(1 - (idle - before[cpu][0]) / max(total - before[cpu][1], 1) for cpu, (idle, total) in after.items())
    return max(1, min(cores(), len(after) - round(busy)) if after else cores())


def available_memory() -> int:
    """Bytes that processes may still take without swapping, also within the limit of the container."""
    found = [_value(_PROC / "meminfo", "MemAvailable:") * 1024 or 2**62]
    limit = _read(_CGROUP / "memory.max").strip()
    if limit.isdigit():
        used = int(_read(_CGROUP / "memory.current").strip() or 0)
        found.append(int(limit) - used + _value(_CGROUP / "memory.stat", "inactive_file"))
    return max(0, min(found))


def resident_memory(pid: int) -> int:
    """Bytes of memory that a process holds; 0 if it has ended or the system does not tell."""
    pages = _read(_PROC / str(pid) / "statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0


def peak_memory() -> int:
    """The most bytes of memory that this process has held so far."""
    if peak := _value(_PROC / "self" / "status", "VmHWM:"):
        return peak * 1024
    import resource  # where there is no /proc; a child process may count its parent's peak, too

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def keep_freed_memory() -> None:
    """Let this process keep up to half a gigabyte of freed memory for the next tensors; does nothing without glibc.

    By default most tensors above 128 KiB are mapped afresh, and the system clears each of their pages at its first use,
    which took a tenth of a training step (benchmarks/README.md). No number changes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or another system
        return
    mallopt(-3, 2**25)  # M_MMAP_THRESHOLD: smaller blocks are not mapped; the largest value that every version accepts
    mallopt(-1, 2**29)  # M_TRIM_THRESHOLD: bytes that may be free at the end of the heap


def gpus() -> int:
    """How many NVIDIA GPUs this process may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([name for name in visible.split(",") if name.strip() not in ("", "-1")])
    return len(list(Path("/dev").glob("nvidia[0-9]*")))


def _idle() -> dict[str, tuple[int, int]]:
    """(idle, all) clock ticks of each core that this process may use, since the machine started."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)} if hasattr(os, "sched_getaffinity") else set()
    found = {}
    for line in _read(_PROC / "stat").splitlines():
        name, *ticks = line.split()
        if name in mine:
            found[name] = (int(ticks[3]) + int(ticks[4]), sum(map(int, ticks[:8])))
    return found


def _value(path: Path, key: str) -> int:
    lines = [line.split() for line in _read(path).splitlines()]
    return next((int(line[1]) for line in lines if line[:1] == [key]), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
