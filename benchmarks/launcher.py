"""The gain of parallel runs: six runs one after the other, then two at a time, one thread each.

    python benchmarks/launcher.py [--epochs 3] [--task ner] [--encoder glove]
    python benchmarks/launcher.py --rounds 3       # for a machine that other work keeps busy

Prints both wall times, their ratio, and whether the scores are equal. With `--rounds`, the times are of the processor:
a run alone and two side by side, in turn. Two runs slow each other down by what they share, above all the memory;
without other work, two side by side are 2 x alone / side by side times as fast as one after the other.
"""

import argparse
import os
import statistics
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
    parser.add_argument("--rounds", type=int, help="compare processor seconds instead, in so many rounds")
    given = parser.parse_args()
    options = [f"task={given.task}", f"encoder={given.encoder}", f"task.training.epochs={given.epochs}"]
    if given.rounds:
        return compare_processor_seconds(options, given.rounds)
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
    return None


if __name__ == "__main__":
    main()
