"""Independent pieces of work on the cores of a CPU, each on one core: less waiting than all cores on each piece."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def side_by_side(function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
    """`map` on as many threads as torch may use, each with torch kept to one core; results in the order of pieces."""
    count = torch.get_num_threads()

    def on_one_core(piece: Piece) -> Result:
        torch.get_num_threads()  # takes over torch's setting, once a thread; what is set before that is lost
        torch.set_num_threads(1)
        return function(piece)

    try:
        yield from _workers(count).map(on_one_core, pieces)
    finally:
        torch.set_num_threads(count)  # the last word for all threads but these


@cache
def _workers(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="elmo-bench")


os.register_at_fork(after_in_child=_workers.cache_clear)  # a child has no threads but its first
