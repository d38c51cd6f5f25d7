"""Independent pieces of work on the cores of a CPU, each on one core: less waiting than all cores on each piece."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def side_by_side(function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
    """`map` on as many threads as torch may use, each with torch kept to one core; results in the order of pieces."""
    return _workers(torch.get_num_threads()).map(function, pieces)


@cache
def _workers(count: int) -> ThreadPoolExecutor:
    workers = ThreadPoolExecutor(count, thread_name_prefix="elmo-bench", initializer=_one_core)
    started = threading.Barrier(count)
    list(workers.map(lambda _: started.wait(), range(count)))
    torch.set_num_threads(count)  # the last word for all threads but these
    return workers


def _one_core() -> None:
    torch.get_num_threads()  # takes over torch's setting, once a thread; what is set before that is lost
    torch.set_num_threads(1)


os.register_at_fork(after_in_child=_workers.cache_clear)  # a child has no threads but its first
