"""Where the runs of a sweep are carried out: child processes on this machine, jobs of Slurm, or tasks of Ray.

A launcher is a module with `launch(jobs, options, ledger) -> Iterator[Ended]`. It runs `python -m elmo_bench` with each
job's arguments and reports how the process ended. It does not report results: those are in the ledger.
"""

import importlib
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elmo_bench.base.errors import UserError
from elmo_bench.base.include import folders

if TYPE_CHECKING:
    from elmo_bench.runner.sweep import PlannedRun

_NEEDED = {"local": "torch", "slurm": "submitit", "ray": "ray"}  # the package of each launcher


@dataclass(frozen=True)
class Job:
    """One attempt at a run."""

    run: "PlannedRun"
    attempt: str  # 32 hex digits that its record or failure will carry
    log: Path  # for what the process prints
    memory: int  # bytes that it is expected to need
    device: str  # cpu or cuda
    overwrite: bool = False  # an earlier record is replaced

    def arguments(self, *more: str, threads: int) -> list[str]:
        """Of `python -m elmo_bench`; the options of the run come first, `more` replace them."""
        given = any(option.startswith("trainer.threads=") for option in self.run.options)
        share = [] if given else [f"trainer.threads={threads}"]
        included = [part for folder in folders for part in ("--include", str(folder))]
        return [*included, "run", *self.run.options, *share, *more, "--attempt", self.attempt]


class Ended(NamedTuple):
    """How the process of a job ended."""

    job: Job
    code: int | None  # exit code; None if the process did not come to its end
    why: str = ""  # then the reason, such as "killed by SIGKILL"
    log: Path | None = None  # if it is not the job's

    @classmethod
    def with_code(cls, job: Job, code: int, why: str = "", log: Path | None = None) -> "Ended":
        """From the exit code of a process, which is negative if a signal ended it."""
        if code >= 0:
            return cls(job, code, why, log)
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
        return cls(job, None, f"killed by {name}{hint}", log)


def launch(jobs: Sequence[Job], options: Mapping[str, Any], ledger: Path) -> Iterator[Ended]:
    """Run the jobs as `launcher=…` says; yields each as it ends. Ends those that run if it is interrupted.

    Raises UserError for an unknown launcher and for a package that it needs.
    """
    if (name := options["name"]) not in _NEEDED:
        raise UserError(f"launcher.name={name}: unknown launcher. Choose one of: {', '.join(_NEEDED)}.")
    if find_spec(_NEEDED[name]) is None:
        raise UserError(f"launcher={name}: needs {_NEEDED[name]}. Run pip install 'elmo-bench[{name}]'.")
    module = importlib.import_module(f"{__name__}.{name}")
    yield from module.launch(jobs, options, ledger)


def command(arguments: Sequence[str]) -> list[str]:
    """The process of a job."""
    return [sys.executable, "-m", "elmo_bench", *arguments]
