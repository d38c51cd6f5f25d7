"""`make fuzz`: thousands of seeded mutants for every reader, each in bounded time and memory; prints a table.

    python -m tests.fuzz.campaign [--mutants 5000] [--seed 0] [--out build/fuzz] [NAME…]

Each reader works in a process of its own, which is killed when it takes too long within a library. Results are kept by
reader in `--out`, so that a campaign resumes where it was stopped; remove a file to test its reader again. The mutants
behind a fault are kept next to it. NAME is a part of a reader's name.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench.base.files import atomic_write
from tests.fuzz.cases import Case, cases, sound
from tests.fuzz.outcome import SECONDS, outcome, write_mutant

KEPT = 3  # mutants of one kind of fault


def main(arguments: list[str]) -> int:
    """0 if no reader has a fault, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Damaged files for every reader.")
    parser.add_argument("--mutants", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(arguments)
    os.environ["ELMO_BENCH_CACHE"] = str(options.out / "cache")  # nothing goes to the user's
    found = {}
    for case in cases():
        if not options.names or any(name in case.name for name in options.names):
            found[case.name] = run(case, options.mutants, options.seed, options.out)
            print(_row(case.name, found[case.name]), flush=True)
    faults = sum(sum(result["faults"].values()) for result in found.values())
    print(f"{len(found)} readers, {sum(result['done'] for result in found.values()):,} mutants, {faults} faults")
    return int(faults > 0)


@dataclass(frozen=True)
class Campaign:
    """The mutants of one case: what they are made of, where they are written, and where faulty ones are kept."""

    case: Case
    seed: int
    files: dict[str, bytes]
    work: Path
    kept: Path

    def go_on(self, result: dict[str, Any], mutants: int) -> None:
        """Read mutants in one process, until it is through or has to be killed."""
        ours, theirs = multiprocessing.Pipe(duplex=False)
        numbers = range(result["done"], mutants)
        process = multiprocessing.get_context("fork").Process(target=self.child, args=(numbers, theirs))
        process.start()
        theirs.close()
        said, kind = True, None
        try:
            while (said := ours.poll(2 * SECONDS)) and (told := ours.recv()) is not None:
                _count(result, *told)
        except EOFError:
            process.join()
            kind = f"the process died with exit code {process.exitcode}"
        if not said:
            process.kill()
            kind = f"more than {SECONDS} seconds in a library"
        if kind and result["done"] < mutants:
            self.keep(result["done"])
            _count(result, False, kind, 2 * SECONDS)
        process.join()

    def child(self, numbers: range, pipe: Any) -> None:
        """Send (read, fault, seconds) of each of these mutants."""
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        faults: Counter[str] = Counter()
        for number in numbers:
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir()
            write_mutant(random.Random(f"{self.seed} {self.case.name} {number}"), self.case, self.files, self.work)
            started = time.monotonic()
            read, kind = outcome(self.case, self.work)
            pipe.send((read, kind, time.monotonic() - started))
            if kind:
                faults[kind] += 1
                if faults[kind] <= KEPT:
                    self.keep(number)
        pipe.send(None)

    def keep(self, number: int) -> None:
        """Copy the mutant behind a fault."""
        shutil.copytree(self.work, self.kept / str(number), dirs_exist_ok=True)


def run(case: Case, mutants: int, seed: int, out: Path) -> dict[str, Any]:
    """What a case's reader did with its mutants: how many, seconds, and faults by their kind."""
    path = out / f"{_safe(case.name)}.json"
    result: dict[str, Any] = {"seed": seed, "done": 0, "read": 0, "seconds": 0.0, "slowest": 0.0, "faults": {}}
    if path.exists() and (before := json.loads(path.read_text()))["seed"] == seed:
        result = before
    memory = Path("/dev/shm")  # where there is one: a disk is slower
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        files = sound(case, folder / "sound")
        campaign = Campaign(case, seed, files, folder / "work", out / "mutants" / _safe(case.name))
        while result["done"] < mutants:
            campaign.go_on(result, mutants)
            with atomic_write(path, "w") as file:
                json.dump(result, file, indent=1)
    return result


def _count(result: dict[str, Any], read: bool, kind: str | None, seconds: float) -> None:
    result["done"] += 1
    result["read"] += read
    result["seconds"] += seconds
    result["slowest"] = max(result["slowest"], seconds)
    if kind:
        result["faults"][kind] = result["faults"].get(kind, 0) + 1


def _row(name: str, result: dict[str, Any]) -> str:
    faults = Counter(result["faults"])
    row = (
        f"{name:<62} {result['done']:>6,} mutants {result['read'] / result['done']:>4.0%} read "
        f"{result['seconds']:>6.0f} s, slowest {result['slowest']:>5.2f} s {faults.total():>5} faults"
    )
    return "\n".join([row, *(f"    {count:>5} {kind}" for kind, count in faults.most_common(8))])


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
