"""What this machine has and has to spare, and how many threads a job takes.

Cores, GPUs and packages; memory is in `base/memory.py`. Importable without torch.
Training takes one thread unless the user gives more, so that its scores depend on no
other work on the machine. Encoding and pretraining take as many as there are idle cores
when they start.

OpenMP's threads wait for each other after every operation, by default in a loop that
keeps a core busy. If other processes need the cores, training with two threads is then
far slower than with one (benchmarks/README.md). So OpenMP's threads sleep instead, and
where work has independent pieces, each piece runs on one thread (`parallel_map`).
"""

import itertools
import math
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import console

CGROUP = Path("/sys/fs/cgroup")
PROC = Path("/proc")
_GPU = re.compile(r"[0-9]+|(GPU|MIG)-.+")  # in $CUDA_VISIBLE_DEVICES
_PROJECT = Path(__file__).resolve().parents[2]


def cores() -> int:
    """The cores that this process may use.

    Its affinity, or less if its container or its job has a smaller quota.
    """
    if hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    for folder in control_groups():
        quota, _, period = read_system(folder / "cpu.max").partition(" ")
        if quota.isdigit() and period.strip().isdigit():
            usable = min(usable, math.ceil(int(quota) / int(period)))
    return max(1, usable)


def control_groups() -> list[Path]:
    """The folders of this process's control group (version 2) and of those around it.

    A container, Slurm and systemd may each have set a limit in one of them. Of version
    1 only the root is listed.
    """
    path = ""
    for line in read_system(PROC / "self" / "cgroup").splitlines():
        if line.startswith("0::/"):
            path = line.removeprefix("0::/")
    names = Path(path)
    if ".." in names.parts:  # outside of what the container sees
        return [CGROUP]
    return [CGROUP / names, *(CGROUP / parent for parent in names.parents)]


def processor() -> str:
    """The processor's model name; the architecture if the system does not report it."""
    cpuinfo = read_system(PROC / "cpuinfo")
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    if model:
        return model[1].strip()
    return platform.processor() or platform.machine()


def free_cores() -> int:
    """How many of `cores()` other processes leave idle; at least 1.

    Measured over 0.3 seconds.
    """
    before = _idle()
    time.sleep(0.3)
    after = _idle()
    if not after:
        return max(1, cores())
    busy = 0.0
    for cpu, (idle, total) in after.items():
        idle_before, total_before = before[cpu]
        ticks = max(total - total_before, 1)
        busy += 1 - (idle - idle_before) / ticks
    free = len(after) - round(busy)
    return max(1, min(cores(), free))


@contextmanager
def subnormals_as_zeros() -> Iterator[None]:
    """In this thread float32 numbers that are smaller than 1.2e-38, of either sign, are
    zeros.

    A sharp softmax is full of them, and on a CPU a product of such weights takes many
    times as long (benchmarks/subnormals.py). A sum with larger numbers stays the same.
    The other threads of `trainer.threads` above 1 may have them or not.
    """
    import torch

    smallest = torch.full((1,), torch.finfo(torch.float32).tiny)
    before = not bool((smallest / 2).any())
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def gpus() -> int:
    """How many NVIDIA GPUs this process may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        names = [name.strip() for name in visible.split(",")]
        return len(list(itertools.takewhile(_GPU.fullmatch, names)))  # as CUDA does
    devices = list(Path("/dev").glob("nvidia[0-9]*"))
    if devices:
        return len(devices)
    return 1 if Path("/dev/dxg").exists() else 0  # the one of Windows


def _idle() -> dict[str, tuple[int, int]]:
    """(idle, all) clock ticks of each core that this process may use.

    Since the machine started. {} if the system does not tell.
    """
    if not hasattr(os, "sched_getaffinity"):
        return {}
    usable = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    clocks = {}
    for line in read_system(PROC / "stat").splitlines():
        name, *ticks = line.split()
        if name in usable:
            idle = int(ticks[3]) + int(ticks[4])
            clocks[name] = (idle, sum(map(int, ticks[:8])))
    return clocks


def read_system(path: Path) -> str:
    """A file of the system; "" if it is not there."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def environment(packages: Iterable[str], project: Path = _PROJECT) -> dict[str, Any]:
    """The record's `environment`.

    Without device, threads and precision, which the runner adds. Leaves out packages
    that are not installed.
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
    """(commit, dirty) of the checkout, else of the wheel (see setup.py).

    (None, None) if there is neither.
    """
    top = _git(project, "rev-parse", "--show-toplevel")
    commit = _git(project, "rev-parse", "HEAD")
    if not top or not commit or Path(top).resolve() != project:
        return _wheel_state(project)
    # Records are untracked files until somebody commits them; they do not change the
    # code.
    changes = _git(project, "status", "--porcelain", "--", ".", ":(exclude)results")
    return commit, None if changes is None else changes != ""


def _wheel_state(project: Path) -> tuple[str | None, bool | None]:
    file = project / "elmo_bench" / "commit.txt"
    text = file.read_text().strip() if file.is_file() else ""
    commit, dirty, _ = text.partition("-dirty")
    if not commit:
        return None, None
    return commit, dirty != ""


def _git(project: Path, *arguments: str) -> str | None:
    """The output of git; None if it fails."""
    command = ["git", "-C", str(project), *arguments]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None


Piece = TypeVar("Piece")
Result = TypeVar("Result")


def wait_asleep() -> None:
    """Let OpenMP's threads sleep while they wait, unless the user chose otherwise.

    Call it before torch is imported.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def choose_threads(count: int | None, job: str) -> int:
    """`count`, or `$OMP_NUM_THREADS`, or the number of idle cores.

    The latter is measured (0.3 s) and printed. Raises UserError for anything else.
    """
    if count is not None:
        if type(count) is not int or count < 1:
            raise UserError(
                f"threads={count}: must be a whole number above 0, "
                "or null for the idle cores"
            )
        return count
    variable = os.environ.get("OMP_NUM_THREADS", "")
    if variable.isdecimal() and int(variable) > 0:
        return int(variable)
    free = free_cores()
    usable = cores()
    threads = "1 thread" if free == 1 else f"{free} threads"
    line = f"{job}: {threads}, as {free} of {usable} cores are idle"
    console.print(line, highlight=False)
    return free


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


def parallel_map(
    function: Callable[[Piece], Result], pieces: Iterable[Piece]
) -> Iterator[Result]:
    """`map` on as many threads as torch may use; results come in order.

    torch uses one core in each of the threads.
    """
    import torch

    count = torch.get_num_threads()

    def on_one_core(piece: Piece) -> Result:
        # torch copies its setting to a new thread here, over any earlier setting.
        torch.get_num_threads()
        torch.set_num_threads(1)
        return function(piece)

    if count == 1:
        yield from map(function, pieces)
        return
    try:
        with ThreadPoolExecutor(count, thread_name_prefix="elmo-bench") as workers:
            yield from workers.map(on_one_core, pieces)
    finally:
        # The workers' setting would otherwise reach the whole process.
        torch.set_num_threads(count)
