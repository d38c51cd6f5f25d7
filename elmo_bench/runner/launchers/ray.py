"""`launcher=ray`: tasks of Ray, on this machine or on a cluster. No shared folder: files come back to the ledger.

A worker writes to a temporary ledger, which holds the records that the caller has of the run (so that a finished run is
skipped). The files that the run leaves there, a record or a failure, are merged into the caller's ledger.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import settings_key
from elmo_bench.ledger.merge import merge, pack, unpack
from elmo_bench.ledger.paths import list_runs
from elmo_bench.ledger.store import read_record
from elmo_bench.runner.launchers import Ended, Job, command


def launch(jobs: Sequence[Job], options: Mapping[str, Any], ledger: Path) -> Iterator[Ended]:
    """Give all jobs to Ray, which starts as many as its CPUs (and GPUs) allow; a worker that dies concerns no other."""
    try:
        import ray
    except ImportError:
        raise UserError("launcher=ray: needs Ray. Run pip install 'elmo-bench[ray]'.") from None
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
            handles[task.remote(arguments, {} if job.overwrite else _known(ledger, job), str(Path.cwd()))] = job
        while handles:
            [done], _ = ray.wait(list(handles), num_returns=1)
            job = handles.pop(done)
            try:
                code, log, files = ray.get(done)
            except ray.exceptions.RayError as error:
                yield Ended(job, None, f"Ray: {str(error).strip().splitlines()[0]}")
                continue
            job.log.parent.mkdir(parents=True, exist_ok=True)
            job.log.write_bytes(log)
            with tempfile.TemporaryDirectory() as folder:
                unpack(files, Path(folder))
                merged = merge(Path(folder), ledger, overwrite=job.overwrite)
            why = "; ".join([*merged.conflicts, *merged.problems])
            yield Ended(job, code, why) if code >= 0 else Ended(job, None, f"killed by signal {-code}")
    finally:
        if own:
            ray.shutdown()  # ends the workers


def _known(ledger: Path, job: Job) -> dict[str, bytes]:
    """The records of the run that the ledger has: of the same settings and seed, whatever their contents."""
    spec = job.run.spec
    runs = list_runs(ledger, suite=spec.suite, task=spec.task, encoder=spec.encoder).runs
    found: dict[str, bytes] = {}
    for run, names in runs.items():
        if run.seed == job.run.seed and {run.record.name, run.outcomes.name} <= names:
            with suppress(UserError, OSError):
                if settings_key(read_record(run.record)["spec"]) == spec.key:
                    files = (run.record, run.outcomes)
                    found |= {path.relative_to(ledger).as_posix(): path.read_bytes() for path in files}
    return found


def _run(arguments: list[str], known: dict[str, bytes], here: str) -> tuple[int, bytes, dict[str, bytes]]:
    """On a worker: (exit code, what was printed, the files of the run)."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(known, Path(folder))
        *options, attempt, name = arguments
        done = subprocess.run(
            command([*options, f"ledger={folder}", attempt, name]),
            cwd=here if Path(here).is_dir() else None,  # options may have relative paths
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return (
            done.returncode,
            done.stdout,
            {name: data for name, data in pack(Path(folder)).items() if name not in known},
        )
