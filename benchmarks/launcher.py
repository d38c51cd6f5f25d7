"""The gain of parallel runs: six runs one after the other, then two at a time, one thread each.

    python benchmarks/launcher.py [--epochs 3] [--task ner] [--encoder glove]

Prints both wall times, their ratio, and whether the scores are equal.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from elmo_bench.ledger import read_ledger

ROOT = Path(__file__).resolve().parents[1]
SEEDS = range(6)
WAYS = {"one at a time": "launcher.jobs=1", "two at a time": "launcher.jobs=2"}


def sweep(folder: Path, options: list[str]) -> float:
    """Seconds of a sweep into the ledger `folder`."""
    started = time.monotonic()
    command = [sys.executable, str(ROOT / "run.py"), "-m", *options, "logger=none", f"ledger={folder}"]
    subprocess.run([*command, f"launcher.logs={folder}-logs"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--task", default="ner")
    parser.add_argument("--encoder", default="glove")
    given = parser.parse_args()
    options = [f"task={given.task}", f"encoder={given.encoder}", f"task.training.epochs={given.epochs}"]
    options.append(f"seed={','.join(map(str, SEEDS))}")
    seconds, scores = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, (way, jobs) in enumerate(WAYS.items()):
            ledger = Path(folder) / str(number)
            seconds.append(sweep(ledger, [*options, jobs]))
            records, _ = read_ledger(ledger)
            scores.append([record["scores"] for record in records])
            print(f"{way:<14} {seconds[-1]:7.1f} s  {len(records)} runs", flush=True)
            if len(records) != len(SEEDS):
                sys.exit(f"{way}: expected {len(SEEDS)} runs")
    print(f"two at a time / one at a time: {seconds[1] / seconds[0]:.2f}")
    print(f"scores are equal: {scores[0] == scores[1]}")


if __name__ == "__main__":
    main()
