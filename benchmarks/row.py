"""Where the time of an encoder's row goes: the runs of `sweep experiment=row`.

    python benchmarks/row.py                      # --encoder elmo --ledger results/runs

By their records: minutes of processor time a run, of which training steps, reading or computing frozen layers, and the
rest (dev evaluations, checkpoints, test). A record's time begins when its data are read; `start.py` measures what comes
before. `heads.py --parts` divides a step.
"""

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from elmo_bench.ledger import Record, read_all, settings_key
from elmo_bench.runner.plan import plan
from elmo_bench.spec.names import metric_of

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Where the time of an encoder's row goes.")
    parser.add_argument("--encoder", default="elmo")
    parser.add_argument("--ledger", type=Path, default=ROOT / "results/runs")
    options = parser.parse_args()
    records = {}
    for record in read_all(options.ledger, metrics=metric_of).records:
        records[settings_key(record.spec), record.seed] = record
    runs = plan(["experiment=row", f"encoder={options.encoder}", "suite=open"]).runs
    by_task = defaultdict(list)
    for run in runs:
        if (run.spec.key, run.seed) in records:
            by_task[run.spec.task].append(records[run.spec.key, run.seed])
    print("| task | runs | processor | minutes a run | steps | frozen layers | dev, checkpoints, test |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for task, of_task in by_task.items():
        print(row(task, of_task))
    seconds = sum(record.cost.cpu_seconds for of_task in by_task.values() for record in of_task)
    found = sum(map(len, by_task.values()))
    print(f"\n{found} of {len(runs)} runs are there: {seconds / 3600:.1f} core-hours.")
    return 0


def row(task: str, records: Sequence[Record]) -> str:
    """Means over the runs of a task."""
    costs = [record.cost for record in records]
    steps = statistics.mean(cost.train_cpu_seconds for cost in costs)
    layers = statistics.mean(cost.encode_cpu_seconds for cost in costs)
    whole = statistics.mean(cost.cpu_seconds for cost in costs)
    processors = ", ".join(sorted({record.environment.cpu for record in records}))
    cells = [task, str(len(records)), processors]
    for seconds in (whole, steps, layers, whole - steps - layers):
        cells.append(f"{seconds / 60:.1f}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
