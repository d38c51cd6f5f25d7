"""Runs of a sweep as jobs of Slurm, or as tasks of Ray."""

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.runner.jobs import POLL, Ended, Job, ended, imports


def slurm(jobs: Sequence[Job], options: Mapping[str, Any]) -> Iterator[Ended | None]:
    """`launcher=slurm`: an array of Slurm jobs through submitit.

    Nodes and caller share the folder of the ledger. Jobs that have not ended are
    cancelled if this process is interrupted.
    """
    import submitit

    arguments = [job.arguments(threads=options["cpus"]) for job in jobs]
    environments = [imports()] * len(jobs)
    try:
        executor = submitit.AutoExecutor(
            jobs[0].log.parent / "slurm", cluster=options["cluster"]
        )
        executor.update_parameters(**_slurm_parameters(options, len(jobs)))
        submitted = executor.map_array(_on_node, arguments, environments)
    except (OSError, RuntimeError, submitit.core.utils.FailedJobError) as error:
        raise UserError(
            f"launcher=slurm: the jobs could not be submitted ({_first_line(error)}). "
            "Check sbatch, or use launcher=local."
        ) from None
    waiting = dict(zip(submitted, jobs, strict=True))
    try:
        while waiting:
            for handle in [*waiting]:
                if handle.done():
                    yield _ended_on_node(handle, waiting.pop(handle))
            yield None
            time.sleep(POLL)
    finally:
        for handle in waiting:
            handle.cancel()


def _slurm_parameters(options: Mapping[str, Any], jobs: int) -> dict[str, Any]:
    """By the names of submitit."""
    parameters = {
        "name": "elmo-bench",
        "timeout_min": options["timeout_min"],
        "cpus_per_task": options["cpus"],
        "slurm_array_parallelism": options["jobs"] or jobs,
        "slurm_additional_parameters": dict(options["extra"]),
    }
    optional = {
        "gpus_per_node": "gpus_per_node",
        "mem_gb": "mem_gb",
        "slurm_partition": "partition",
    }
    for name, key in optional.items():
        if options[key] is not None:
            parameters[name] = options[key]
    return parameters


def _ended_on_node(handle: Any, job: Job) -> Ended:
    log = Path(handle.paths.stdout)
    failed = handle.exception()
    if failed is None:
        return ended(job, handle.result(), log=log)
    return Ended(job, None, f"Slurm job {handle.job_id}: {_first_line(failed)}", log)


def _first_line(error: BaseException) -> str:
    """Of its message; its type if it has no message."""
    lines = [*str(error).strip().splitlines(), type(error).__name__]
    return lines[0]


def _on_node(arguments: list[str], environment: Mapping[str, str]) -> int:
    command = [sys.executable, "-m", "elmo_bench", *arguments]
    return subprocess.run(command, check=False, env=os.environ | environment).returncode


def ray_tasks(
    jobs: Sequence[Job], options: Mapping[str, Any]
) -> Iterator[Ended | None]:
    """`launcher=ray`: tasks of Ray, here or on a cluster.

    Workers and caller share the folder of the ledger.
    """
    import ray

    _connect(options)
    try:
        # A run that dies with its worker is reported; it is not started again.
        task = ray.remote(
            num_cpus=options["cpus"], num_gpus=options["gpus"], max_retries=0
        )(_on_worker)
        here = str(Path.cwd())
        most = options["jobs"] or len(jobs)
        waiting = deque(jobs)
        handles: dict[Any, Job] = {}
        while waiting or handles:
            while waiting and len(handles) < most:
                job = waiting.popleft()
                arguments = job.arguments(threads=options["cpus"])
                log = str(job.log.absolute())
                handles[task.remote(arguments, log, here, imports())] = job
            done, _ = ray.wait(list(handles), num_returns=1, timeout=POLL)
            for handle in done:
                job = handles.pop(handle)
                try:
                    yield ended(job, ray.get(handle))
                except ray.exceptions.RayError as error:
                    cause = getattr(error, "cause", error)
                    yield Ended(job, None, f"Ray: {_first_line(cause)}")
            yield None
    finally:
        ray.shutdown()  # ends the workers


def _connect(options: Mapping[str, Any]) -> None:
    """Start or find Ray. Raises UserError if there is none at the address."""
    import ray

    cpus = None
    if options["jobs"] and options["address"] is None:
        cpus = options["cpus"] * options["jobs"]
    quiet: dict[str, Any] = {
        "log_to_driver": False,
        "include_dashboard": False,
        "logging_level": "ERROR",
    }
    try:
        ray.init(address=options["address"], num_cpus=cpus, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(
            f"launcher.address={options['address']}: no Ray there "
            f"({_first_line(error)}). Give auto or HOST:PORT."
        ) from None


def _on_worker(
    arguments: list[str], log: str, here: str, environment: Mapping[str, str]
) -> int:
    """In the folder of the caller, since options may have relative paths.

    Raises OSError if the worker lacks it.
    """
    command = [sys.executable, "-m", "elmo_bench", *arguments]
    with Path(log).open("wb") as file:
        done = subprocess.run(
            command,
            cwd=here,
            check=False,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        return done.returncode
