"""Independent pieces of work on the cores of a CPU, one core each: less waiting than all cores on every piece."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def parallel_map(function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> Iterator[Result]:
    """`map` on as many threads as torch may use, each with torch kept to one core; results come in order."""
    count = torch.get_num_threads()

    def on_one_core(piece: Piece) -> Result:
        torch.get_num_threads()  # torch's setting is copied to a new thread here; what is set before this is lost
        torch.set_num_threads(1)
        return function(piece)

    try:
        with ThreadPoolExecutor(count, thread_name_prefix="elmo-bench") as workers:
            yield from workers.map(on_one_core, pieces)
    finally:
        torch.set_num_threads(count)  # the workers' setting would otherwise reach the whole process
