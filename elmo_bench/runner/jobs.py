"""One attempt at a run, and how its process ended."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base import include
from elmo_bench.runner.plan import PlannedRun

POLL = 1.0  # seconds


@dataclass(frozen=True)
class Job:
    """One attempt at a run."""

    run: PlannedRun
    attempt: str  # 32 hex digits that its record will carry
    log: Path  # for what the process prints
    memory: int  # bytes that it is expected to need

    def arguments(self, *, threads: int) -> list[str]:
        """Of `python -m elmo_bench`."""
        options = [*self.run.options]
        if not any(option.startswith("trainer.threads=") for option in options):
            options.append(f"trainer.threads={threads}")
        return [*include.options(), "run", *options, "--attempt", self.attempt]


class Ended(NamedTuple):
    """How the process of a job ended."""

    job: Job
    code: int | None  # exit code; None if the process did not come to its end
    why: str = ""  # then the reason, such as "killed by SIGKILL"
    log: Path | None = None  # if it is not the job's


def ended(job: Job, code: int, log: Path | None = None) -> Ended:
    """From the exit code of a process, which is negative if a signal ended it."""
    if code >= 0:
        return Ended(job, code, log=log)
    number = -code
    has_name = number in set(signal.Signals)
    name = signal.Signals(number).name if has_name else f"signal {number}"
    why = f"killed by {name}"
    if number == signal.SIGKILL:
        why += ", as the system does when memory runs out"
    return Ended(job, None, why, log)


def imports() -> dict[str, str]:
    """The environment in which a process imports from the folders of this one.

    `python -m` looks in the current folder first, which may have a `random.py`.
    """
    path = os.pathsep.join(map(os.path.abspath, sys.path))  # "" is the current folder
    return {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
