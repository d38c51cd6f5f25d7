"""What this machine has and has to spare (cores, memory, GPUs, packages), and how many threads a job takes.

Importable without torch. Training takes one thread unless told otherwise, so that its scores depend on no other work on
the machine. Encoding and pretraining take as many as there are idle cores when they start.

OpenMP's threads wait for each other after every operation, by default in a loop that keeps a core busy. If other
processes need the cores, training with two threads is then far slower than with one (benchmarks/README.md). So OpenMP
is told to sleep instead, and where work has independent pieces, each piece runs on one thread (`parallel_map`).
"""

import ctypes
import math
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console

_CGROUP = Path("/sys/fs/cgroup")
_PROC = Path("/proc")
_PROJECT = Path(__file__).resolve().parents[2]


def cores() -> int:
    """The cores that this process may use: its affinity, or less if its container has a smaller quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _read(_CGROUP / "cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        usable = min(usable, math.ceil(int(quota) / int(period)))
    return max(1, usable)


def processor() -> str:
    """The processor's model name; the architecture if the system does not report it."""
    model = re.search(r"^model name\s*:\s*(.+)$", _read(_PROC / "cpuinfo"), re.MULTILINE)
    return model[1].strip() if model else platform.processor() or platform.machine()


def free_cores(seconds: float = 0.3) -> int:
    """How many of `cores()` other processes leave idle, measured over so many seconds; at least 1."""
    before = _idle()
    time.sleep(seconds)
    after = _idle()
    busy = sum(1 - (idle - before[cpu][0]) / max(total - before[cpu][1], 1) for cpu, (idle, total) in after.items())
    return max(1, min(cores(), len(after) - round(busy)) if after else cores())


def available_memory() -> int:
    """Bytes that processes may still take without swapping, also within the limit of the container."""
    free = [_value(_PROC / "meminfo", "MemAvailable:") * 1024 or 2**62]
    limit = _read(_CGROUP / "memory.max").strip()
    if limit.isdigit():
        used = int(_read(_CGROUP / "memory.current").strip() or 0)
        free.append(int(limit) - used + _value(_CGROUP / "memory.stat", "inactive_file"))
    return max(0, min(free))


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
    return len(list(Path("/dev").glob("nvidia[0-9]*"))) or int(Path("/dev/dxg").exists())  # the one of Windows


def free_gpu_memory(device: Any) -> float:
    """The bytes that this process can still take of a GPU; `launcher.jobs` gives each run a share."""
    import torch

    free, total = torch.cuda.mem_get_info(device)
    share = torch.cuda.get_per_process_memory_fraction(device.index) * total  # it refuses a device without a number
    return min(free, share - torch.cuda.memory_reserved(device))


def _idle() -> dict[str, tuple[int, int]]:
    """(idle, all) clock ticks of each core that this process may use, since the machine started."""
    mine = {f"cpu{number}" for number in os.sched_getaffinity(0)} if hasattr(os, "sched_getaffinity") else set()
    clocks = {}
    for line in _read(_PROC / "stat").splitlines():
        name, *ticks = line.split()
        if name in mine:
            clocks[name] = (int(ticks[3]) + int(ticks[4]), sum(map(int, ticks[:8])))
    return clocks


def _value(path: Path, key: str) -> int:
    number = re.search(rf"^{key}\s+(\d+)", _read(path), re.MULTILINE)
    return int(number[1]) if number else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def environment(packages: Iterable[str], project: Path = _PROJECT) -> dict[str, Any]:
    """The record's `environment` without device, threads and precision, which the runner adds.

    Leaves out packages that are not installed.
    """
    commit, dirty = _git_state(project)
    versions: dict[str, str] = {}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": processor(),
        "packages": versions,
        "commit": commit,
        "dirty": dirty,
    }


def _git_state(project: Path) -> tuple[str | None, bool | None]:
    """(commit, dirty) of the checkout, else of the wheel (see setup.py); (None, None) if neither is known."""
    top = _git(project, "rev-parse", "--show-toplevel")
    commit = _git(project, "rev-parse", "HEAD")
    if not top or not commit or Path(top).resolve() != project:
        wheel = project / "elmo_bench" / "commit.txt"
        commit, dirty, _ = wheel.read_text().strip().partition("-dirty") if wheel.is_file() else ("", "", "")
        return (commit, bool(dirty)) if commit else (None, None)
    # Records are untracked files until somebody commits them; they do not change the code.
    changes = _git(project, "status", "--porcelain", "--", ".", ":(exclude)results")
    return commit, None if changes is None else bool(changes)


def _git(project: Path, *arguments: str) -> str | None:
    with suppress(OSError, subprocess.TimeoutExpired):
        command = ["git", "-C", str(project), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.strip() if done.returncode == 0 else None
    return None


Piece = TypeVar("Piece")
Result = TypeVar("Result")


def wait_asleep() -> None:
    """Let OpenMP's threads sleep while they wait, unless the user chose otherwise. Call it before torch is imported."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def choose_threads(given: int | None, job: str) -> int:
    """`given`, or `$OMP_NUM_THREADS`, or the number of idle cores, which is measured (0.3 s) and printed.

    Raises UserError for anything else.
    """
    if given is not None:
        if type(given) is not int or given < 1:
            raise UserError(f"threads={given}: must be a whole number above 0, or null for the idle cores")
        return given
    if (text := os.environ.get("OMP_NUM_THREADS", "")).isdecimal() and int(text):
        return int(text)
    count, usable = free_cores(), cores()
    console.print(f"{job}: {count} thread{'s' * (count > 1)}, as {count} of {usable} cores are idle", highlight=False)
    return count


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Let torch use so many threads while the block runs."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def parallel_map(function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
    """`map` on as many threads as torch may use, each with torch kept to one core; results come in order."""
    import torch

    count = torch.get_num_threads()

    def on_one_core(piece: Piece) -> Result:
        torch.get_num_threads()  # torch's setting is copied to a new thread here; what is set before this is lost
        torch.set_num_threads(1)
        return function(piece)

    if count == 1:
        yield from map(function, pieces)
        return
    try:
        with ThreadPoolExecutor(count, thread_name_prefix="elmo-bench") as workers:
            yield from workers.map(on_one_core, pieces)
    finally:
        torch.set_num_threads(count)  # the workers' setting would otherwise reach the whole process
