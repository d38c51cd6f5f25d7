"""`map` on several processes, results in the order of the items.

Each process has its own pipe. A closed pipe shows either side that the other has ended: a worker killed for lack of
memory becomes one clear error, and workers end when the parent ends.
"""

import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from elmo_bench.base.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], processes: int) -> Iterator[Result]:
    """`map(work, items)`. Items are taken as needed, at most two for each process ahead of the last result.

    `work` is pickled once for each process (spawned: the caller's main module must be importable), items and results
    once each. An error in `work` is raised here, when its item's turn comes. A single item is processed in this
    process, which is faster.
    """
    items = iter(items)
    first = list(islice(items, 2))
    items = chain(first, items)
    if processes == 1 or len(first) < 2:
        yield from map(work, items)
        return
    team = _start(work, processes)
    try:
        yield from _share(items, [pipe for _, pipe in team])
    finally:
        for process, pipe in team:
            pipe.close()
            process.terminate()
            process.join()


def _start(work: Callable, processes: int) -> list[tuple[BaseProcess, Connection]]:
    context = get_context("spawn")
    team: list[tuple[BaseProcess, Connection]] = []
    for _ in range(processes):
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        process.start()
        theirs.close()  # ours then ends when the process does
        team.append((process, ours))
    return team


def _share(items: Iterator[Any], pipes: list[Connection]) -> Iterator[Any]:
    idle, busy = list(pipes), {}
    done: dict[int, tuple[Any, Exception | None]] = {}
    given = returned = 0
    while True:
        while idle and given < returned + 2 * len(pipes):
            if not (some := list(islice(items, 1))):
                break
            pipe = idle.pop()
            with _both_alive():
                pipe.send(some[0])
            busy[pipe] = given
            given += 1
        if not busy:
            return
        ready = wait(list(busy))
        for pipe in [pipe for pipe in busy if pipe in ready]:
            with _both_alive():
                done[busy.pop(pipe)] = pipe.recv()
            idle.append(pipe)
        while returned in done:
            result, error = done.pop(returned)
            if error is not None:
                raise error
            yield result
            returned += 1


@contextmanager
def _both_alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise UserError("one of the processes was killed (out of memory?). Try again with a lower threads=.") from None


def _serve(work: Callable, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent ends the others
    try:
        while True:
            item = pipe.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = (work(item), None)
            except Exception as error:
                if not isinstance(error, UserError):
                    error.add_note(f"in a process of its own:\n{traceback.format_exc()}")
                answer = (None, error)
            pipe.send(answer)
    except (EOFError, OSError):
        return  # the parent is gone
