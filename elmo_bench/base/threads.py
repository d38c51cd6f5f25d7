"""How many threads a job takes; the one place that decides. Importable without torch.

Training takes one thread unless told otherwise, so that its scores depend on no other work on the machine. Encoding and
pretraining take as many as there are idle cores when they start.

OpenMP's threads wait for each other after every operation, by default in a loop that keeps a core busy. If other
processes need the cores, training with two threads is then far slower than with one (benchmarks/README.md). So OpenMP
is told to sleep instead, and where work has independent pieces, each piece runs on one thread (`parallel_map`).
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import cores, free_cores
from elmo_bench.base.progress import console

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def wait_asleep() -> None:
    """Let OpenMP's threads sleep while they wait, unless the user chose otherwise. Call it before torch is imported."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def check_threads(given: object) -> int | None:
    """A number of threads that the user gave, or None. Raises UserError for anything else."""
    if given is not None and (type(given) is not int or given < 1):
        raise UserError(f"threads={given}: must be a whole number above 0, or null for the idle cores")
    return given


def choose_threads(given: int | None, job: str) -> int:
    """`given`, or `$OMP_NUM_THREADS`, or the number of idle cores, which is measured (0.3 s) and printed.

    Raises UserError for a number below 1.
    """
    if count := check_threads(given):
        return count
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
