"""The main job: `python run.py task=ner encoder=elmo`; `-m` for sweeps; `--help` for every option."""

import sys
import traceback
from pathlib import Path

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from elmo_bench.config import check
from elmo_bench.errors import UserError
from elmo_bench.ledger import HeldElsewhere, Record, RunPaths, read_ledger
from elmo_bench.reporting.overview import overviews
from elmo_bench.reporting.tables import task_table

finished: list[tuple[Path, Record]] = []  # (ledger, record) of this process's runs
failures: list[tuple[str, int]] = []  # (what failed, exit code): 2 bad input, 1 anything else


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def job(config: DictConfig) -> None:
    """One run; in a sweep a failed run is noted and the next one starts."""
    overrides = list(HydraConfig.get().overrides.task)
    title = f"{' '.join(overrides)}: " if HydraConfig.get().mode == RunMode.MULTIRUN else ""
    try:
        from elmo_bench.runner.run import run  # brings torch: --help and misspelt options need none

        record, skipped = run(config, overrides)
        finished.append((Path(config.ledger), record))
        main = record["metric"]
        dev, test = (record["scores"][split]["overall"][main] for split in ("dev", "test"))  # type: ignore[literal-required]
        where = RunPaths.of(Path(config.ledger), record).record
        state = "already in the ledger (overwrite=true runs it again)" if skipped else "done"
        print(f"{title}{state}: dev {main} {dev:.2f}, test {main} {test:.2f}  {where}", flush=True)
    except HeldElsewhere as error:
        print(f"{title}{error}", flush=True)
    except UserError as error:
        failures.append((f"{title}{error}", 2))
    except Exception as error:
        traceback.print_exc()
        failures.append((f"{title}{type(error).__name__}: {error}", 1))


def show(ledger: Path, task: str) -> None:
    """The tables of a task, one a suite, an arrow at the newest run of this process."""
    new = next(record for _, record in reversed(finished) if record["task"] == task)
    records = [record for record in read_ledger(ledger) if record["task"] == task]
    for suite in sorted({record["suite"] for record in records}):
        print(f"\n{task} on suite {suite}:\n")
        print(task_table(records, suite=suite, task=task, highlight=new["hash"]))


def main() -> int:
    """Check every option before the first run; then one run or a sweep. Exit code 2: bad input; 1: a run failed."""
    try:
        check("config", get_args_parser().parse_args().overrides)
        job()
        for ledger, task in dict.fromkeys((ledger, record["task"]) for ledger, record in finished):
            show(ledger, task)
        for ledger in dict.fromkeys(ledger for ledger, _ in finished):
            for table in overviews(read_ledger(ledger), [record["hash"] for at, record in finished if at == ledger]):
                print(f"\n{table}")
    except UserError as error:
        failures.append((str(error), 2))
    if len(failures) > 1:
        print(f"\n{len(failures)} runs failed:", file=sys.stderr)
    for what, _ in failures:
        print(f"run.py: {what}", file=sys.stderr)
    return max((code for _, code in failures), default=0)


if __name__ == "__main__":
    sys.exit(main())
