"""`launcher=local`: child processes on this machine, one thread each, as many at once as cores and memory allow.

The children are forked from a process that has imported everything and done nothing (a fork server), since torch takes
seconds to import. Each has its own memory and its own log.
"""

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any

from elmo_bench.__main__ import entry
from elmo_bench.base.machine import available_memory, free_cores, gpus, resident_memory
from elmo_bench.runner.launchers import Ended, Job

PRELOAD = ["elmo_bench.cli.run", "elmo_bench.runner.run", "elmo_bench.runner.evaluate"]
PATIENCE = 10.0  # seconds for a child to end after a signal


def launch(jobs: Sequence[Job], options: Mapping[str, Any], ledger: Path) -> Iterator[Ended]:
    """Start the jobs in order, `options["jobs"]` at once; a child that dies concerns no other."""
    most = options["jobs"] or limit(jobs[0].device)
    waiting, running = deque(jobs), dict[BaseProcess, Job]()
    try:
        while waiting or running:
            while waiting and len(running) < most and _fits(waiting[0], running):
                job = waiting.popleft()
                running[_start(job)] = job
            wait([child.sentinel for child in running], timeout=1.0)  # a second, since memory may become free
            for child in [child for child in running if child.exitcode is not None]:
                yield Ended.with_code(running.pop(child), child.exitcode or 0)
    finally:
        _end(list(running))


def limit(device: str) -> int:
    """As many as there are idle cores; on GPUs one for each."""
    return max(1, gpus()) if device == "cuda" else free_cores()


def _fits(job: Job, running: Mapping[BaseProcess, Job]) -> bool:
    """Whether memory is left for this job, with what the running ones have still to take; always, if none runs."""
    growth = sum(max(0, other.memory - resident_memory(child.pid or 0)) for child, other in running.items())
    return not running or available_memory() - growth >= job.memory


def _start(job: Job) -> BaseProcess:
    """In the process group of this one: Ctrl-C in a terminal reaches it too.

    The fork server does its imports before it gets our `sys.path`, and would find another installation of elmo-bench
    first. Libraries that count the cores themselves get one thread.
    """
    # A child imports from the folders of this process: `python -m` looks in the current one first, which may have a
    # `random.py`.
    path = os.pathsep.join(map(os.path.abspath, sys.path))  # "" is the current folder
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    child = context.Process(target=_child, args=(job.arguments(threads=1), str(job.log)))
    child.start()
    return child


def _child(arguments: list[str], log: str) -> None:
    """`python -m elmo_bench …` in the forked process."""
    interruptible()
    print_to(log)
    sys.argv = ["elmo_bench", *arguments]
    entry()


def interruptible() -> None:
    """`_end` interrupts children also where the shell has SIGINT ignored, as in background jobs.

    A child also ends with the sweep, however that ends.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def end_with_parent() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end_with_parent, daemon=True).start()


def print_to(log: str) -> None:
    """From now on everything that this process prints goes to the file."""
    with Path(log).open("wb", buffering=0) as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)


def _end(children: Sequence[BaseProcess]) -> None:
    """An interrupt lets a run release its lock and close its logs; then less polite signals."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        alive = [child for child in children if child.is_alive() and child.pid]
        for child in alive:
            os.kill(child.pid or 0, kind)
        deadline = time.monotonic() + PATIENCE
        while any(child.is_alive() for child in alive) and time.monotonic() < deadline:
            time.sleep(0.1)
