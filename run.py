"""The main job: `python run.py task=ner encoder=elmo`; `-m` for sweeps; `--help` for every option."""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.ledger import HeldElsewhere, Record, RunPaths, read_ledger
from elmo_bench.reporting.overview import overviews
from elmo_bench.reporting.tables import task_table
from elmo_bench.runner.plan import Planned
from elmo_bench.runner.values import check_sweep

OUTCOMES = (
    "ELMO_BENCH_OUTCOMES"  # the folder in which the jobs of a sweep, in whatever process, leave what became of them
)


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def job(config: DictConfig) -> None:
    """One run; in a sweep a failed run is noted and the next one starts."""
    overrides = list(HydraConfig.get().overrides.task)
    sweep = HydraConfig.get().mode == RunMode.MULTIRUN
    title = f"{' '.join(overrides)}: " if sweep else ""
    share_cores()
    key = Planned.of(config, overrides).key
    if (outcome := Path(os.environ[OUTCOMES], f"{key}.json")).exists():
        print(f"{title}the same run as another of this sweep", flush=True)
        return
    try:
        from elmo_bench.runner.run import run  # brings torch: --help and misspelt options need none

        record, skipped = run(config, overrides, in_sweep=sweep)
        main = record["metric"]
        dev, test = (record["scores"][split]["overall"][main] for split in ("dev", "test"))  # type: ignore[literal-required]
        where = RunPaths.of(Path(config.ledger), record).record
        state = f"already in the ledger{_without(config, record)} (overwrite=true runs it again)" if skipped else "done"
        print(f"{title}{state}: dev {main} {dev:.2f}, test {main} {test:.2f}  {where}", flush=True)
        found = {"ledger": config.ledger, "suite": record["suite"], "task": record["task"], "hash": record["hash"]}
    except HeldElsewhere as error:
        print(f"{title}{error}", flush=True)
        found = {"left": str(error)}
    except UserError as error:
        found = {"failed": f"{title}{error}", "code": 2}
    except Exception as error:
        traceback.print_exc()
        found = {"failed": f"{title}{type(error).__name__}: {error}", "code": 1}
    outcome.write_text(json.dumps(found), encoding="utf-8")


def _without(config: DictConfig, record: Record) -> str:
    """What was asked for and is not there: the run that made the record kept no predictions."""
    there = any(RunPaths.of(Path(config.ledger), record).work.glob("test.predictions*"))
    return "" if there or not config.predictions else ", without predictions"


def share_cores() -> None:
    """The threads that the launcher gives a job, before torch counts the cores; joblib says so to its jobs itself."""
    launcher = HydraConfig.get().launcher
    if "cpus_per_task" in launcher:  # submitit's
        os.environ["OMP_NUM_THREADS"] = str(launcher.cpus_per_task or 1)


def show(finished: list[dict[str, Any]]) -> None:
    """A table for each suite and task that was run, an arrow at its newest run; then all tasks together."""
    newest = {(found["ledger"], found["suite"], found["task"]): found["hash"] for found in finished}
    for (ledger, suite, task), new in newest.items():
        print(f"\n{task} on suite {suite}:\n")
        print(task_table(read_ledger(Path(ledger)), suite=suite, task=task, highlight=new))
    for ledger in dict.fromkeys(found["ledger"] for found in finished):
        hashes = [found["hash"] for found in finished if found["ledger"] == ledger]
        for table in overviews(read_ledger(Path(ledger)), hashes):
            print(f"\n{table}")


def main() -> int:
    """Check every option before the first run; then one run or a sweep. Exit code 2: bad input; 1: a run failed.

    What is left to another process has not failed (0): that process does it, or a later start of the same sweep.
    """
    failures: list[tuple[str, int]] = []  # (what failed, exit code): 2 bad input, 1 anything else
    try:
        given = get_args_parser().parse_args()
        check_sweep(given.overrides, multirun=given.multirun)
        shared = Path("results/sweeps") if given.multirun else None  # by the machines of a cluster; hydra.sweep.dir
        if shared:
            shared.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="outcomes-", dir=shared) as folder:
            os.environ[OUTCOMES] = str(Path(folder).resolve())
            job()
            files = sorted(Path(folder).glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
            outcomes = [json.loads(path.read_text(encoding="utf-8")) for path in files]
        failures += [(found["failed"], found["code"]) for found in outcomes if "failed" in found]
        try:
            show([found for found in outcomes if "hash" in found])
        except UserError as error:  # a record of another run is damaged; these are done
            print(f"run.py: no table: {error}", file=sys.stderr)
        if given.multirun and (left := sum("left" in found for found in outcomes)):
            runs = "1 run was" if left == 1 else f"{left} runs were"
            print(
                f"\n{runs} left to other processes; `python -m elmo_bench status` with the same options says how they "
                "stand, and starting this again does what they leave",
                file=sys.stderr,
            )
    except UserError as error:
        failures.append((str(error), 2))
    if len(failures) > 1:
        print(f"\n{len(failures)} runs failed:", file=sys.stderr)
    for what, _ in failures:
        print(f"run.py: {what}", file=sys.stderr)
    return max((code for _, code in failures), default=0)


if __name__ == "__main__":
    sys.exit(main())
