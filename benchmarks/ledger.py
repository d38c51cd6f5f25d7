"""A large ledger: what a run adds, `status`, `report`, the page and the index. Results: README.md.

    python benchmarks/ledger.py --records 20000 --folder FOLDER

The records are copies of the committed ones: two of three with another learning rate, one of three
with other weights and older, so that it is superseded. The ledger in FOLDER is kept and used again.
"""

import argparse
import copy
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from elmo_bench.base.json import digest
from elmo_bench.ledger import RunPaths, read_ledger, run_hash

ROOT = Path(__file__).resolve().parents[1]
RATE = "task.training.optimizer.lr"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, required=True, help="a folder for the ledger, the cache and the page")
    options = parser.parse_args()
    ledger, cache, page = (options.folder / name for name in (f"runs{options.records}", "cache", "page"))
    if not ledger.is_dir():
        make(ledger, options.records)
    shutil.rmtree(cache, ignore_errors=True)
    shutil.rmtree(empty := options.folder / "empty", ignore_errors=True)
    one = ["run", "task=ner", "encoder=none", "task.training.epochs=1", "trainer.threads=1", "overwrite=true"]
    status = ["status", "--experiment", "table1", "suite=open", f"ledger={ledger}"]
    report = ["report", "--ledger", str(ledger), "--out", str(page)]

    def measure(name: str, command: list[str]) -> float:
        seconds, peak, code = timed([sys.executable, "-m", "elmo_bench", *command], cache)
        print(f"{name:40} {seconds:7.1f} s {peak:6.0f} MiB  exit code {code}", flush=True)
        return seconds

    measure("run, first on this machine", [*one, f"ledger={empty}"])
    base = measure("run, empty ledger", [*one, f"ledger={empty}"])
    measure("status, without an index", status)
    measure("status", status)
    print(f"{'run, beyond an empty ledger':40} {measure('run', [*one, f'ledger={ledger}']) - base:7.1f} s")
    measure("report, first", report)
    measure("report, nothing changed", report)
    change(ledger)
    measure("report, one record changed", report)
    text = (page / "index.html").read_text(encoding="utf-8")
    print(f"page: {len(text) / 1e6:.1f} MB; README.md: {(page / 'README.md').stat().st_size / 1e6:.2f} MB")
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    print(f"cache folder: {size / 1e6:.1f} MB")


def make(ledger: Path, count: int) -> None:
    """Write so many records with their outcomes."""
    originals = [
        (RunPaths.of(ROOT / "results/runs", record), record) for record in read_ledger(ROOT / "results/runs")[0]
    ]
    for number in range(count):
        copied, (paths, record) = number // len(originals), originals[number % len(originals)]
        record = copy.deepcopy(record)
        spec = record["spec"]
        if copied % 3 == 2:
            spec["contents"] = {**(spec["contents"] or {}), "weights": digest(copied)}
            record["created"] = f"2025-01-01T00:00:{copied % 60:02}+00:00"
        elif copied:
            spec["settings"][RATE] = spec["settings"][RATE] * (1 + copied / 1000)
        record["hash"] = run_hash(spec)
        target = RunPaths.of(ledger, record)
        target.folder.mkdir(parents=True, exist_ok=True)
        target.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        shutil.copyfile(paths.outcomes, target.outcomes)


def change(ledger: Path) -> None:
    """Another time of the first record, as an overwritten run has it."""
    path = min(ledger.glob("open/ner/glove/*/seed0.json"))
    path.write_text(path.read_text(encoding="utf-8").replace('"created": "2026', '"created": "2027'), encoding="utf-8")
    path.with_suffix(".npz").touch()


def timed(command: list[str], cache: Path) -> tuple[float, float, int]:
    """(seconds, peak memory in MiB, exit code) of a process with its own cache folder and one thread."""
    environment = {**os.environ, "ELMO_BENCH_CACHE": str(cache), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
