"""`launcher=ray`: tasks of Ray, on this machine or on a cluster. No shared folder: files come back to the ledger.

A worker writes to a temporary ledger, which holds the records that the caller has of the run (so that a finished run is
skipped). The files that the run leaves there, a record or a failure, are merged into the caller's ledger.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.ledger.merge import merge
from elmo_bench.ledger.paths import list_runs
from elmo_bench.runner.launchers import Ended, Job, command


def launch(jobs: Sequence[Job], options: Mapping[str, Any], ledger: Path) -> Iterator[Ended]:
    """Give all jobs to Ray, which starts as many as its CPUs (and GPUs) allow; a worker that dies concerns no other."""
    import ray

    own = not ray.is_initialized()
    if own:
        cpus = options["cpus"] * options["jobs"] if options["jobs"] and options["address"] is None else None
        quiet: dict[str, Any] = {"log_to_driver": False, "include_dashboard": False, "logging_level": "ERROR"}
        try:
            ray.init(address=options["address"], num_cpus=cpus, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            why = str(error).strip().splitlines()[0]
            raise UserError(
                f"launcher.address={options['address']}: no Ray there ({why}). Give auto or HOST:PORT."
            ) from None
    try:
        # A run that dies with its worker is reported; it is not started again.
        task = ray.remote(num_cpus=options["cpus"], num_gpus=options["gpus"], max_retries=0)(_run)
        handles = {}
        for job in jobs:
            arguments = job.arguments(threads=options["cpus"])
            handles[task.remote(arguments, _known(ledger, job), str(Path.cwd()))] = job
        while handles:
            [done], _ = ray.wait(list(handles), num_returns=1)
            job = handles.pop(done)
            try:
                code, log, files = ray.get(done)
            except ray.exceptions.RayError as error:
                yield Ended(job, None, f"Ray: {str(error).strip().splitlines()[0]}")
                continue
            job.log.write_bytes(log)
            with tempfile.TemporaryDirectory() as folder:
                _write(files, folder)
                merged = merge(Path(folder), ledger, overwrite=job.overwrite)
            why = "; ".join([*merged.conflicts, *merged.problems])
            yield Ended.with_code(job, code, why)
    finally:
        if own:
            ray.shutdown()  # ends the workers


def _known(ledger: Path, job: Job) -> dict[str, bytes]:
    """The records of the run that the ledger has, and those of other settings: the worker finds its own."""
    spec = job.run.spec
    runs = [] if job.overwrite else list_runs(ledger, suite=spec.suite, task=spec.task, encoder=spec.encoder).runs
    files = (path for run in runs if run.seed == job.run.seed for path in (run.record, run.outcomes))
    return {str(path.relative_to(ledger)): path.read_bytes() for path in files if path.is_file()}


def _write(files: Mapping[str, bytes], folder: str) -> None:
    for name, content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _run(arguments: list[str], known: dict[str, bytes], here: str) -> tuple[int, bytes, dict[str, bytes]]:
    """On a worker: (exit code, what was printed, the files of the run)."""
    with tempfile.TemporaryDirectory() as folder:
        _write(known, folder)
        before = {*Path(folder).rglob("*")}
        *options, attempt, name = arguments
        done = subprocess.run(
            command([*options, f"ledger={folder}", attempt, name]),
            cwd=here if Path(here).is_dir() else None,  # options may have relative paths
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        new = (path for path in Path(folder).rglob("*") if path not in before and path.is_file())
        return done.returncode, done.stdout, {str(path.relative_to(folder)): path.read_bytes() for path in new}
