"""`status` and `report` on a large ledger.

    python benchmarks/ledger.py --records 20000 --folder FOLDER

The records are the committed ones with other learning rates and attempts. The ledger in FOLDER is kept and used again.
`report` is measured twice: it makes the report, then finds that nothing has changed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from elmo_bench.ledger import RunPaths, new_attempt, read_all, run_hash
from elmo_bench.spec.run_spec import changes_of

ROOT = Path(__file__).resolve().parents[1]
RATE = "task.training.optimizer.lr"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, required=True, help="a folder for the ledger and the page")
    options = parser.parse_args()
    if not (ledger := options.folder / f"runs{options.records}").is_dir():
        make(ledger, options.records)
    cache = options.folder / "cache"  # of receipts
    shutil.rmtree(cache, ignore_errors=True)
    os.environ["ELMO_BENCH_CACHE"] = str(cache)
    measure("status", "--experiment", "table1", f"ledger={ledger}")
    for _ in range(2):
        measure("report", "--ledger", str(ledger), "--out", str(options.folder / "page"))


def make(ledger: Path, count: int) -> None:
    """Write so many records with their outcomes."""
    home = ROOT / "results/runs"
    originals = read_all(home).records
    for number in range(count):
        original = originals[number % len(originals)]
        settings = dict(original.spec.settings)
        settings[RATE] *= 1 + number // len(originals) / 1000
        spec = original.spec.model_copy(update={"settings": settings})
        changes = {"attempt": new_attempt(), "spec": spec, "hash": run_hash(spec)}
        record = original.model_copy(update=changes)
        record = record.model_copy(update={"changes": changes_of(record)})
        target = RunPaths.of(ledger, record)
        target.folder.mkdir(parents=True, exist_ok=True)
        target.record.write_text(json.dumps(record.to_json(), indent=1) + "\n", encoding="utf-8")
        shutil.copyfile(RunPaths.of(home, original).outcomes, target.outcomes)


def measure(*command: str) -> None:
    """Print seconds and peak memory of a process."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "elmo_bench", *command], stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    seconds, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    print(f"{command[0]}: {seconds:.1f} s, of the processor {processor:.1f} s, {usage.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
