"""Where the runs of a sweep are carried out: child processes on this machine, jobs of Slurm, or tasks of Ray.

Each runs `elmo-bench run` with a job's arguments and reports how the process ended; the results are in the ledger.
"""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import folders
from elmo_bench.base.machine import available_memory, gpus, resident_memory
from elmo_bench.runner.plan import PlannedRun

PRELOAD = [
    "elmo_bench.cli.run",
    "elmo_bench.runner.run",
    "elmo_bench.training.lightning",  # before whatever imports Lightning
    "elmo_bench.runner.evaluate",
    "elmo_bench.runner.predict",
    "h5py",
]
POLL = 1.0  # seconds
TORCHS = 0.9  # of a run's share of a GPU's memory; the driver takes the rest
PATIENCE = 10.0  # seconds for a child to end after a signal

Command = Callable[[], None]  # the command line of this program: reads sys.argv and ends the process


@dataclass(frozen=True)
class Job:
    """One attempt at a run."""

    run: PlannedRun
    attempt: str  # 32 hex digits that its record will carry
    log: Path  # for what the process prints
    memory: int  # bytes that it is expected to need

    def arguments(self, *, threads: int) -> list[str]:
        """Of `python -m elmo_bench`."""
        given = any(option.startswith("trainer.threads=") for option in self.run.options)
        share = [] if given else [f"trainer.threads={threads}"]
        included = [part for folder in folders for part in ("--include", str(folder))]
        return [*included, "run", *self.run.options, *share, "--attempt", self.attempt]


class Ended(NamedTuple):
    """How the process of a job ended."""

    job: Job
    code: int | None  # exit code; None if the process did not come to its end
    why: str = ""  # then the reason, such as "killed by SIGKILL"
    log: Path | None = None  # if it is not the job's


def launch(jobs: Sequence[Job], options: Mapping[str, Any], command: Command) -> Iterator[Ended | None]:
    """Run the jobs as `launcher=…` says; yields each as it ends, and None about once a second.

    command: what a local child calls; Slurm and Ray start `python -m elmo_bench`. Running jobs are stopped if this is
    interrupted. Raises UserError for an unknown launcher, and for a package that it needs.
    """
    launchers = {"local": ("torch", _local), "slurm": ("submitit", _slurm), "ray": ("ray", _ray)}
    if (name := options["name"]) not in launchers:
        raise UserError(f"launcher.name={name}: unknown launcher. Choose one of: {', '.join(launchers)}.")
    package, carry_out = launchers[name]
    if find_spec(package) is None:
        raise UserError(f"launcher={name}: needs {package}. Run pip install 'elmo-bench[{name}]'.")
    yield from carry_out(jobs, options, command)


def _ended(job: Job, code: int, log: Path | None = None) -> Ended:
    """From the exit code of a process, which is negative if a signal ended it."""
    if code >= 0:
        return Ended(job, code, log=log)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
    return Ended(job, None, f"killed by {name}{hint}", log)


def _local(jobs: Sequence[Job], options: Mapping[str, Any], command: Command) -> Iterator[Ended | None]:
    """`launcher=local`: child processes, one thread each, as many at once as cores (or GPUs) and memory allow.

    They are forked from a process that has imported everything and done nothing (a fork server), since torch takes
    seconds to import. Each has its own memory, its share of a GPU's, and its own log; a child that dies concerns no
    other.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(gpus())))
    share = 1 / math.ceil(options["jobs"] / len(visible.split(",")))
    waiting, running = deque(jobs), dict[BaseProcess, tuple[Job, str]]()
    try:
        while waiting or running:
            while waiting and len(running) < options["jobs"] and _fits(waiting[0], running):
                job, taken = waiting.popleft(), [gpu for _, gpu in running.values()]
                gpu = min(visible.split(","), key=taken.count)
                running[_start(job, command, gpu, share)] = job, gpu
            wait([child.sentinel for child in running], timeout=POLL)  # not longer, since memory may become free
            for child in [child for child in running if child.exitcode is not None]:
                yield _ended(running.pop(child)[0], child.exitcode or 0)
            yield None
    finally:
        _end(list(running))


def _fits(job: Job, running: Mapping[BaseProcess, tuple[Job, str]]) -> bool:
    """Whether memory is left for this job, with what the running ones have still to take; always, if none runs."""
    growth = sum(max(0, other.memory - resident_memory(child.pid or 0)) for child, (other, _) in running.items())
    return not running or available_memory() - growth >= job.memory


def _start(job: Job, command: Command, gpu: str, share: float) -> BaseProcess:
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
    child = context.Process(target=_child, args=(command, job.arguments(threads=1), str(job.log), gpu, share))
    child.start()
    return child


def _child(command: Command, arguments: list[str], log: str, gpu: str, share: float) -> None:
    """`python -m elmo_bench …` in the forked process, which may take this share of a GPU's memory."""
    begin_child(log)
    if gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
        import torch

        if share < 1 and torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(TORCHS * share)
    sys.argv = ["elmo_bench", *arguments]
    command()


def begin_child(log: str) -> None:
    """Send what this process prints to the file; let it be interrupted, and end it with the sweep, however that ends.

    A shell has SIGINT ignored in background jobs, where `_end` interrupts children too.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def end_with_parent() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end_with_parent, daemon=True).start()
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


def _slurm(jobs: Sequence[Job], options: Mapping[str, Any], command: Command) -> Iterator[Ended | None]:
    """`launcher=slurm`: an array of Slurm jobs through submitit. Nodes and caller share the folder of the ledger.

    Jobs that have not ended are cancelled if this process is interrupted.
    """
    import submitit

    names = {"gpus_per_node": "gpus_per_node", "mem_gb": "mem_gb", "partition": "slurm_partition"}  # submitit's
    executor = submitit.AutoExecutor(jobs[0].log.parent / "slurm", cluster=options["cluster"])
    executor.update_parameters(
        name="elmo-bench",
        timeout_min=options["timeout_min"],
        cpus_per_task=options["cpus"],
        slurm_array_parallelism=options["jobs"] or len(jobs),
        **{name: options[key] for key, name in names.items() if options[key] is not None},
        slurm_additional_parameters=dict(options["extra"]),
    )
    try:
        submitted = executor.map_array(_on_node, [job.arguments(threads=options["cpus"]) for job in jobs])
    except (OSError, RuntimeError, submitit.core.utils.FailedJobError) as error:
        raise UserError(f"launcher=slurm: the jobs could not be submitted ({error}).") from None
    waiting = dict(zip(submitted, jobs, strict=True))
    try:
        while waiting:
            for handle in [handle for handle in waiting if handle.done()]:
                job, log = waiting.pop(handle), Path(handle.paths.stdout)
                if (failed := handle.exception()) is None:
                    yield _ended(job, handle.result(), log=log)
                else:
                    lines = [*str(failed).strip().splitlines(), type(failed).__name__]
                    yield Ended(job, None, f"Slurm job {handle.job_id}: {lines[0]}", log)
            yield None
            time.sleep(POLL)
    finally:
        for handle in waiting:
            handle.cancel()


def _on_node(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "elmo_bench", *arguments], check=False).returncode


def _ray(jobs: Sequence[Job], options: Mapping[str, Any], command: Command) -> Iterator[Ended | None]:
    """`launcher=ray`: tasks of Ray, here or on a cluster. Workers and caller share the folder of the ledger."""
    import ray

    cpus = options["cpus"] * options["jobs"] if options["jobs"] and options["address"] is None else None
    quiet: dict[str, Any] = {"log_to_driver": False, "include_dashboard": False, "logging_level": "ERROR"}
    try:
        ray.init(address=options["address"], num_cpus=cpus, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        why = f"no Ray there ({str(error).strip().splitlines()[0]}). Give auto or HOST:PORT."
        raise UserError(f"launcher.address={options['address']}: {why}") from None
    try:
        # A run that dies with its worker is reported; it is not started again.
        task = ray.remote(num_cpus=options["cpus"], num_gpus=options["gpus"], max_retries=0)(_on_worker)
        given = [(job.arguments(threads=options["cpus"]), str(job.log.absolute()), str(Path.cwd())) for job in jobs]
        handles = {task.remote(*arguments): job for arguments, job in zip(given, jobs, strict=True)}
        while handles:
            for done in ray.wait(list(handles), num_returns=1, timeout=POLL)[0]:
                job = handles.pop(done)
                try:
                    yield _ended(job, ray.get(done))
                except ray.exceptions.RayError as error:
                    yield Ended(job, None, f"Ray: {str(getattr(error, 'cause', error)).strip().splitlines()[0]}")
            yield None
    finally:
        ray.shutdown()  # ends the workers


def _on_worker(arguments: list[str], log: str, here: str) -> int:
    """In the folder of the caller, since options may have relative paths. Raises OSError if the worker lacks it."""
    command = [sys.executable, "-m", "elmo_bench", *arguments]
    with Path(log).open("wb") as file:
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": subprocess.STDOUT}
        return subprocess.run(command, cwd=here, check=False, **streams).returncode
