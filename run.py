"""The main job: `python run.py task=ner encoder=elmo`; `-m` for sweeps; `--help` for every option."""

import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from elmo_bench.config import check
from elmo_bench.errors import UserError
from elmo_bench.reporting.tables import task_table

failures: list[tuple[str, int]] = []  # (what failed, exit code) of this process's runs


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def job(config: DictConfig) -> None:
    """One run; in a sweep a failed run is noted and the next one starts."""
    overrides = list(HydraConfig.get().overrides.task)
    title = " ".join(overrides) or "default run"
    try:
        show(config, overrides)
    except UserError as error:
        failures.append((f"{title}: {error}", 2))
    except Exception as error:
        failures.append((f"{title}: {type(error).__name__}: {error} (traceback in the run's .failed.json)", 1))
        if HydraConfig.get().mode == RunMode.RUN:
            raise
    if failures and HydraConfig.get().mode == RunMode.MULTIRUN and failures[-1][0].startswith(f"{title}: "):
        print(f"failed: {failures[-1][0]}", file=sys.stderr)


def show(config: DictConfig, overrides: list[str]) -> None:
    """Run (or skip) and print the table of this task with the row of this run marked."""
    from elmo_bench.ledger import RunPaths, read_ledger
    from elmo_bench.runner.run import run

    record, skipped = run(config, overrides)
    ledger = Path(config.ledger)
    if skipped:
        path = RunPaths.of(ledger, record).record
        print(f"already in the ledger: {path} (overwrite=true runs it again)")
    print(f"\n{record['task']} on suite {record['suite']}:\n")
    print(task_table(read_ledger(ledger), suite=record["suite"], task=record["task"], highlight=record["hash"]))


def main() -> int:
    """Check every option before the first run; then one run or a sweep. Exit code 2: bad input; 1: a run failed."""
    options = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    try:
        check("config", options)
        job()
    except UserError as error:
        failures.append((str(error), 2))
    if len(failures) > 1:
        print(f"\n{len(failures)} runs failed:", file=sys.stderr)
    for what, _ in failures:
        print(f"run.py: {what}", file=sys.stderr)
    return max((code for _, code in failures), default=0)


if __name__ == "__main__":
    sys.exit(main())
