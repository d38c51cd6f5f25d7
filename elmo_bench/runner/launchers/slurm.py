"""`launcher=slurm`: an array of Slurm jobs through submitit. Nodes and caller share the folder of the ledger."""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.runner.launchers import Ended, Job, command

POLL = 1.0  # seconds
_OPTIONAL = {"gpus_per_node": "gpus_per_node", "mem_gb": "mem_gb", "partition": "slurm_partition"}  # submitit's names


def launch(jobs: Sequence[Job], options: Mapping[str, Any], ledger: Path) -> Iterator[Ended]:
    """Submit all jobs at once; cancel those that have not ended if this process is interrupted."""
    import submitit

    executor = submitit.AutoExecutor(jobs[0].log.parent / "slurm", cluster=options["cluster"])
    executor.update_parameters(
        name="elmo-bench",
        timeout_min=options["timeout_min"],
        cpus_per_task=options["cpus"],
        slurm_array_parallelism=options["jobs"] or len(jobs),
        **{name: options[key] for key, name in _OPTIONAL.items() if options[key] is not None},
        slurm_additional_parameters=dict(options["extra"]),
    )
    try:
        submitted = executor.map_array(_run, [command(job.arguments(threads=options["cpus"])) for job in jobs])
    except (OSError, RuntimeError, submitit.core.utils.FailedJobError) as error:
        raise UserError(f"launcher=slurm: the jobs could not be submitted ({error}).") from None
    waiting = dict(zip(submitted, jobs, strict=True))
    try:
        while waiting:
            for handle in [handle for handle in waiting if handle.done()]:
                yield _ended(handle, waiting.pop(handle))
            time.sleep(POLL)
    finally:
        for handle in waiting:
            handle.cancel()


def _run(arguments: list[str]) -> int:
    """On the node."""
    return subprocess.run(arguments, check=False).returncode


def _ended(handle: Any, job: Job) -> Ended:
    log = Path(handle.paths.stdout)
    if (error := handle.exception()) is not None:
        lines = str(error).strip().splitlines()
        return Ended(job, None, f"Slurm job {handle.job_id}: {lines[0] if lines else type(error).__name__}", log)
    return Ended.with_code(job, handle.result(), log=log)
