"""The gain of parallel runs: processor seconds of a run alone and of two side by side, one thread each.

    python benchmarks/launcher.py [--rounds 3] [--epochs 3] [--task ner] [--encoder glove]

Both are measured in turn, so that other work may keep the machine busy. Two runs slow each other down by what they
share, above all the memory; without other work, two side by side are 2 x alone / side by side times as fast as one
after the other.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def processor_seconds(folder: Path, options: list[str], count: int) -> list[float]:
    """Of each of `count` runs that start at the same time, one thread each."""
    command = [sys.executable, str(ROOT / "run.py"), *options, "logger=none", "trainer.threads=1"]
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
    return found


def compare_processor_seconds(options: list[str], rounds: int) -> None:
    """Print processor seconds of a run alone and next to another, by round."""
    gains = []
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            order = (1, 2) if number % 2 else (2, 1)
            found = {count: processor_seconds(Path(folder, str(count)), options, count) for count in order}
        alone, together = statistics.mean(found[1]), statistics.mean(found[2])
        gains.append(2 * alone / together)
        print(f"a run alone {alone:.1f} s, side by side {together:.1f} s each: {gains[-1]:.2f} times", flush=True)
    print(f"median {statistics.median(gains):.2f} ({min(gains):.2f}-{max(gains):.2f}) times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--task", default="ner")
    parser.add_argument("--encoder", default="glove")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    options = [f"task={given.task}", f"encoder={given.encoder}", f"task.training.epochs={given.epochs}"]
    compare_processor_seconds(options, given.rounds)


if __name__ == "__main__":
    main()
