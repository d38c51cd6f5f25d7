"""How soon a run says something, and what it takes besides its own work.

    python benchmarks/start.py                 # --rounds 5 --runs 9 --encoder glove

A run on 120 short texts of two labels, one epoch, on one thread: seconds of wall time until its first line, and
processor seconds of the whole command; the same for a run that is finished already. Medians and ranges of the rounds,
each in a ledger of its own. Then sweeps of one run and of so many seeds, one run at a time: by how many
seconds of wall time each run more makes the command longer, less the seconds that its record counts.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elmo_bench.base.downloads import SETTLED
from elmo_bench.ledger import read_all

TEXTS = 120
SIDES = {"good": ("fine", "lovely", "clever"), "bad": ("dull", "empty", "slow")}
COMMAND = (sys.executable, "-m", "elmo_bench")


class Spent(NamedTuple):
    """Seconds of one command."""

    first_line: float  # of wall time, until it prints something
    processor: float  # of it and the children that it waited for: of no run of a sweep
    whole: float  # of wall time, until it ends


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How soon a run says something.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=9, help="seeds of the sweep")
    parser.add_argument("--encoder", default="glove")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "texts.csv"
        data.write_text(texts(), encoding="utf-8")
        time.sleep(SETTLED)  # the file is too new before, and a run would read it again
        new, finished = [], []
        for number in range(options.rounds):
            command = ["run", *run_options(data, Path(folder) / f"round{number}", options.encoder), "seed=0"]
            new.append(spent(command))
            finished.append(spent(command))
        besides = besides_its_runs(options.runs, data, Path(folder) / "sweep", options.encoder)
    print("| command | first line, s | processor, s |")
    print("|---|---:|---:|")
    for name, rounds in (("a new run", new), ("the same, finished", finished)):
        first_line, processor, _ = map(shown, zip(*rounds, strict=True))
        print(f"| {name} | {first_line} | {processor} |")
    print(f"\nEach run more of a sweep takes {besides:.1f} s of wall time besides its own.")
    return 0


def texts() -> str:
    """A CSV file of short texts whose label is in a word."""
    draw = random.Random(0)
    lines = ["text,label"]
    for number in range(TEXTS):
        label = ("good", "bad")[number % 2]
        lines.append(f"a {draw.choice(SIDES[label])} film number {number},{label}")
    return "\n".join(lines) + "\n"


def run_options(data: Path, ledger: Path, encoder: str) -> list[str]:
    """The options of a run but for its seed."""
    return [
        *("task=classification", f"data.file={data}", f"encoder={encoder}"),
        *("task.training.epochs=1", "trainer.threads=1", "logger=none", f"ledger={ledger}"),
    ]


def spent(command: Sequence[str]) -> Spent:
    """Carry out a command of elmo-bench. Raises CalledProcessError if it fails."""
    before = of_children()
    started = time.perf_counter()
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        assert process.stdout
        process.stdout.readline()
        first_line = time.perf_counter() - started
        process.stdout.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Spent(first_line, of_children() - before, time.perf_counter() - started)


def of_children() -> float:
    """Processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def besides_its_runs(count: int, data: Path, folder: Path, encoder: str) -> float:
    """Seconds by which each run more makes a sweep longer, less those that its record counts."""
    besides = []
    for runs in (1, count):
        ledger = folder / str(runs)
        seeds = ",".join(map(str, range(runs)))
        whole = spent(["sweep", *run_options(data, ledger, encoder), "launcher.jobs=1", f"seed={seeds}"]).whole
        besides.append(whole - sum(record.cost.seconds for record in read_all(ledger).records))
    return (besides[1] - besides[0]) / (count - 1)


def shown(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f}-{max(seconds):.2f})"


if __name__ == "__main__":
    sys.exit(main())
