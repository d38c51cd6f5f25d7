"""Children of a sweep that neither import torch nor train: the seed decides what happens to the run."""

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from elmo_bench.ledger import RunPaths, Spec, run_lock
from elmo_bench.runner.launchers import Command, begin_child
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from tests.ledger.records import changed, make_record, write_true

DONE, FAILED, USER_ERROR, KILLED, SILENT, SKIPPED, SLOW = range(7)  # seeds


def child(_command: Command, arguments: list[str], log: str, share: float, environment: Mapping[str, str]) -> None:
    """In the place of `launchers._child`."""
    gpu = environment.get("CUDA_VISIBLE_DEVICES", "")
    begin_child(log)
    command, *options, flag, attempt = arguments
    assert (command, flag) == ("run", "--attempt")
    config = compose("config", options)
    run = paths(RunSpec.of(config), config.seed, config.ledger)
    print(f"seed {config.seed}\n{share} of gpu {gpu}\nthe last line", flush=True)
    started = time.time()
    spec = RunSpec.of(config)
    if config.seed == DONE:
        time.sleep(0.5)
        write(run, spec, attempt, started=started)
    elif config.seed == FAILED:
        raise ValueError("no such layer")
    elif config.seed == USER_ERROR:
        print("elmo-bench run: vectors.txt: no such file", file=sys.stderr)
        sys.exit(2)
    elif config.seed == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    elif config.seed == SILENT:
        sys.exit(3)
    elif config.seed == SLOW:
        with run_lock(run, spec=Spec(**spec.to_json())):
            time.sleep(60)


def paths(spec: RunSpec, seed: int, ledger: str | Path) -> RunPaths:
    """Of the run on some data."""
    complete = spec.with_contents({"data": "d"})
    return RunPaths(Path(ledger), spec.suite, spec.task, spec.encoder, complete.hash, seed)


def write(run: RunPaths, spec: RunSpec, attempt: str, *, started: float = 0.0) -> None:
    """A record of this attempt; its cost tells when the child ran."""
    complete = spec.with_contents({"data": "d"})
    record = make_record(spec=complete.to_json(), hash=complete.hash, seed=run.seed, attempt=attempt)
    record = changed(record, {"cost/cpu_seconds": time.time() - started, "cost/peak_memory_mib": started})
    write_true(run, record)
