"""Where the runs of a sweep are carried out: child processes on this machine, or jobs
of a scheduler (schedulers.py).

Each runs `elmo-bench run` with a job's arguments and reports how the process ended; the
results are in the ledger.
"""

import math
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.base.machine import gpus
from elmo_bench.base.memory import available_memory, resident_memory
from elmo_bench.encoders.kinds import kind_of
from elmo_bench.runner.jobs import POLL, Ended, Job, ended, imports
from elmo_bench.runner.plan import PlannedRun
from elmo_bench.runner.schedulers import ray_tasks, slurm

PRELOAD = [
    "elmo_bench.cli.run",
    "elmo_bench.runner.run",
    "elmo_bench.training.lightning",  # before whatever imports Lightning
    "elmo_bench.runner.evaluate",
    "elmo_bench.runner.trained",
    "h5py",
]
# Where a sweep has runs that need them.
NLTK = "elmo_bench.runner.early_nltk"
TRANSFORMERS = "elmo_bench.runner.early_transformers"
TORCHS = 0.9  # of a run's share of a GPU's memory; the driver takes the rest
PATIENCE = 10.0  # seconds for a child to end after a signal

# The command line of this program: reads sys.argv and ends the process.
Command = Callable[[], None]


def launch(
    jobs: Sequence[Job], options: Mapping[str, Any], command: Command
) -> Iterator[Ended | None]:
    """Run the jobs as `launcher=…` says; yields each as it ends, and None about once a
    second.

    command: what a local child calls; Slurm and Ray start `python -m elmo_bench`.
    Running jobs are stopped if this is interrupted. Raises UserError for an unknown
    launcher, and for a package that it needs.
    """
    launchers = {
        "slurm": ("submitit", slurm),
        "ray": ("ray", ray_tasks),
    }
    name = options["name"]
    if name == "local":
        yield from _local(jobs, options, command)
        return
    if name not in launchers:
        offered = ", ".join(["local", *launchers])
        raise UserError(
            f"launcher.name={name}: unknown launcher. Choose one of: {offered}."
        )
    package, carry_out = launchers[name]
    if find_spec(package) is None:
        raise UserError(
            f"launcher={name}: needs {package}. Run pip install 'elmo-bench[{name}]'."
        )
    yield from carry_out(jobs, options)


def _local(
    jobs: Sequence[Job], options: Mapping[str, Any], command: Command
) -> Iterator[Ended | None]:
    """`launcher=local`: child processes, one thread each, as many at once as cores (or
    GPUs) and memory allow.

    They are forked from a process that has imported everything and done nothing (a fork
    server), since torch takes seconds to import. Each has its own memory, its share of
    a GPU's, and its own log; a child that dies concerns no other.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = (visible or ",".join(map(str, range(gpus())))).split(",")
    names = names[: max(1, gpus())]  # without those that CUDA does not use
    server = _fork_server(jobs)
    share = _share(jobs, options["jobs"], len(names))
    waiting = deque(jobs)
    running = dict[BaseProcess, tuple[Job, str]]()
    try:
        while waiting or running:
            while _may_start(waiting, running, options["jobs"]):
                job = waiting.popleft()
                taken = [gpu for _, gpu in running.values()]
                gpu = ""
                if _uses_gpu(job.run):
                    gpu = min(names, key=taken.count)
                running[_start(server, job, command, gpu, share)] = job, gpu
            # Not longer, since memory may become free.
            wait([child.sentinel for child in running], timeout=POLL)
            for child in [*running]:
                if child.exitcode is not None:
                    job, _ = running.pop(child)
                    yield ended(job, child.exitcode)
            yield None
    finally:
        _end(list(running))


def _share(jobs: Sequence[Job], most: int, gpu_count: int) -> float:
    """Which part of a GPU's memory a run may take, if so many jobs run at once."""
    on_gpus = sum(_uses_gpu(job.run) for job in jobs)
    at_once = max(1, min(most, on_gpus))
    return 1 / math.ceil(at_once / gpu_count)


def _may_start(
    waiting: Sequence[Job], running: Mapping[BaseProcess, tuple[Job, str]], most: int
) -> bool:
    if not waiting or len(running) >= most:
        return False
    return _fits(waiting[0], running)


def _fits(job: Job, running: Mapping[BaseProcess, tuple[Job, str]]) -> bool:
    """Whether memory is left for this job, with what the running ones have still to
    take; always, if none runs."""
    if not running:
        return True
    growth = 0
    for child, (other, _) in running.items():
        growth += max(0, other.memory - resident_memory(child.pid or 0))
    return available_memory() - growth >= job.memory


def _fork_server(jobs: Sequence[Job]) -> ForkServerContext:
    """What forks the children; it does their imports before the first one starts.

    A process has one: a second sweep from Python gets that of the first.
    """
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(_imported(jobs))
    return server


def _imported(jobs: Sequence[Job]) -> list[str]:
    """What runs import, with what takes long to import and some of these jobs need."""
    modules = [*PRELOAD]
    if any(_cuts_by_treebank(job.run) for job in jobs):
        modules.append(NLTK)
    encoders = [encoder for job in jobs for encoder in job.run.setup.encoders.values()]
    if "transformers" in {kind_of(options).package for options in encoders}:
        modules.append(TRANSFORMERS)
    return modules


def _cuts_by_treebank(run: PlannedRun) -> bool:
    """Whether the suite of a run, or the user's own data, is text that NLTK cuts."""
    suite = run.setup.data.get(run.spec.suite)
    source = suite if isinstance(suite, Mapping) else run.setup.data
    return source.get("tokenizer") == "treebank"


def _uses_gpu(run: PlannedRun) -> bool:
    """A run that does not is shown none, since looking at one takes some of its
    memory."""
    devices = [run.setup.device]
    for options in run.setup.encoders.values():
        devices.append(options.get("device", "cpu"))
    return "cuda" in devices


def _start(
    server: ForkServerContext, job: Job, command: Command, gpu: str, share: float
) -> BaseProcess:
    """In the process group of this one: Ctrl-C in a terminal reaches it too.

    The fork server does its imports before it gets our `sys.path`, and would find
    another installation of elmo-bench first. Libraries that count the cores themselves
    get one thread.
    """
    environment = dict(os.environ) | imports() | {"OMP_NUM_THREADS": "1"}
    if gpu or not _uses_gpu(job.run):
        environment["CUDA_VISIBLE_DEVICES"] = gpu
    arguments = job.arguments(threads=1)
    of_child = command, arguments, str(job.log), share, environment
    child = server.Process(target=_child, args=of_child)
    with _environment(environment), _without_script():
        child.start()
    return child


@contextmanager
def _environment(environment: Mapping[str, str]) -> Iterator[None]:
    """This environment while the block runs: the fork server starts in it."""
    before = dict(os.environ)
    _set_environment(environment)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


@contextmanager
def _without_script() -> Iterator[None]:
    """For the start of a child: it would else import the program that called `sweep`.

    Unless that program is guarded, it would start the sweep again.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _child(
    command: Command,
    arguments: list[str],
    log: str,
    share: float,
    environment: Mapping[str, str],
) -> None:
    """`python -m elmo_bench …` in the forked process, which may take this share of a
    GPU's memory.

    environment: of the sweep. The fork server has the one of the first sweep of this
    process.
    """
    _set_environment(environment)
    begin_child(log)
    if environment.get("CUDA_VISIBLE_DEVICES"):
        import torch

        if share < 1 and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(TORCHS * share)
    sys.argv = ["elmo_bench", *arguments]
    command()


def begin_child(log: str) -> None:
    """Send what this process prints to the file; let it be interrupted, and end it with
    the sweep, however that ends.

    A shell has SIGINT ignored in background jobs, where `_end` interrupts children too.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Thread(target=_end_with_parent, daemon=True).start()
    with Path(log).open("wb", buffering=0) as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _end(children: Sequence[BaseProcess]) -> None:
    """An interrupt lets a run release its lock and close its logs; then less polite
    signals."""
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        alive = [child for child in children if child.is_alive() and child.pid]
        for child in alive:
            os.kill(child.pid or 0, kind)
        deadline = time.monotonic() + PATIENCE
        while any(child.is_alive() for child in alive):
            if time.monotonic() >= deadline:
                break
            time.sleep(0.1)
