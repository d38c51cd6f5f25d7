"""The gain of parallel runs: seconds of a run alone and of two side by side, one thread each.

    python benchmarks/launcher.py [--rounds 3] [--epochs 3] [--task ner] [--encoder glove]

Both are measured in turn. Two side by side are 2 x alone / side by side times as fast as one after the other. The clock
needs two idle cores. Processor seconds can also be compared on a busy machine: they grow when two runs slow each other
down, above all through the memory that they share.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def seconds(folder: Path, options: list[str], count: int) -> tuple[float, float]:
    """Start `count` runs together; seconds by the clock until all have ended, and mean processor seconds of a run."""
    command = [sys.executable, str(ROOT / "run.py"), *options, "logger=none", "trainer.threads=1"]
    start = time.perf_counter()
    runs = [
        subprocess.Popen(
            [*command, f"ledger={folder}/{number}"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for number in range(count)
    ]
    found = []
    for run in runs:
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        if run.returncode:
            sys.exit(f"{' '.join(command)}: exit code {run.returncode}")
        found.append(used.ru_utime + used.ru_stime)
    return time.perf_counter() - start, statistics.mean(found)


def compare(options: list[str], rounds: int) -> None:
    """Print the seconds of a run alone and of two side by side, by round."""
    gains: dict[str, list[float]] = {"clock": [], "processor": []}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            order = (1, 2) if number % 2 else (2, 1)
            found = {count: seconds(Path(folder, str(count)), options, count) for count in order}
        for of, alone, together in zip(gains, found[1], found[2], strict=True):
            gains[of].append(2 * alone / together)
            print(f"{of}: alone {alone:.1f} s, side by side {together:.1f} s: {gains[of][-1]:.2f} times", flush=True)
    for of, each in gains.items():
        print(f"{of}: median {statistics.median(each):.2f} ({min(each):.2f}-{max(each):.2f}) times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--task", default="ner")
    parser.add_argument("--encoder", default="glove")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    options = [f"task={given.task}", f"encoder={given.encoder}", f"task.training.epochs={given.epochs}"]
    compare(options, given.rounds)


if __name__ == "__main__":
    main()
