"""`launcher=local`: child processes on this machine, one thread each, as many at once as cores and memory allow."""

import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from elmo_bench.base.machine import available_memory, free_cores, gpus, resident_memory
from elmo_bench.runner.launchers import Ended, Job, command

POLL = 0.1  # seconds
PATIENCE = 10.0  # seconds for a child to end after a signal


def launch(jobs: Sequence[Job], options: Mapping[str, Any], ledger: Path) -> Iterator[Ended]:
    """Start the jobs in order, `options["jobs"]` at once; a child that dies concerns no other."""
    limit = options["jobs"] or _limit(jobs)
    waiting, running = deque(jobs), dict[subprocess.Popen, Job]()
    try:
        while waiting or running:
            while waiting and len(running) < limit and _fits(waiting[0], running):
                job = waiting.popleft()
                running[_start(job)] = job
            for child in [child for child in running if child.poll() is not None]:
                yield _ended(running.pop(child), child.returncode)
            time.sleep(POLL)
    finally:
        _end(list(running))


def _limit(jobs: Sequence[Job]) -> int:
    """As many as there are idle cores; on GPUs one for each."""
    return max(1, gpus()) if any(job.device == "cuda" for job in jobs) else free_cores()


def _fits(job: Job, running: Mapping[subprocess.Popen, Job]) -> bool:
    """Whether memory is left for this job, with what the running ones have still to take; always, if none runs."""
    growth = sum(max(0, other.memory - resident_memory(child.pid)) for child, other in running.items())
    return not running or available_memory() - growth >= job.memory


def _start(job: Job) -> subprocess.Popen:
    """In the process group of this one: Ctrl-C in a terminal reaches it too."""
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("wb") as log:
        return subprocess.Popen(
            command(job.arguments(threads=1)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # for libraries that do not ask torch
        )


def _ended(job: Job, code: int) -> Ended:
    if code >= 0:
        return Ended(job, code)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
    return Ended(job, None, f"killed by {name}{hint}")


def _end(children: Sequence[subprocess.Popen]) -> None:
    """An interrupt lets a run release its lock and close its logs; then less polite signals."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        alive = [child for child in children if child.poll() is None]
        for child in alive:
            with suppress(ProcessLookupError):
                child.send_signal(kind)
        deadline = time.monotonic() + PATIENCE
        while any(child.poll() is None for child in alive) and time.monotonic() < deadline:
            time.sleep(POLL)
