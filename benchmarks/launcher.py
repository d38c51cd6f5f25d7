"""What runs at once are worth: six runs one after the other with two threads, and by twos with one thread each.

    python benchmarks/launcher.py [--epochs 3] [--task ner] [--encoder glove]

Prints the wall time of both, their ratio, and whether the scores equal those of one after the other with one thread.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from elmo_bench.ledger import read_ledger

ROOT = Path(__file__).resolve().parents[1]
SERIAL, AT_ONCE, REFERENCE = "serial, 2 threads", "2 jobs, 1 thread each", "serial, 1 thread"
SEEDS = range(6)
WAYS = {
    SERIAL: ["trainer.threads=2"],
    AT_ONCE: ["trainer.threads=1", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"],
    REFERENCE: ["trainer.threads=1"],
}


def sweep(folder: Path, options: list[str]) -> float:
    """Seconds of a sweep into the ledger `folder`."""
    started = time.monotonic()
    command = [sys.executable, str(ROOT / "run.py"), "-m", *options, "logger=none", f"ledger={folder}"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--task", default="ner")
    parser.add_argument("--encoder", default="glove")
    given = parser.parse_args()
    options = [f"task={given.task}", f"encoder={given.encoder}", f"task.training.epochs={given.epochs}"]
    options.append(f"seed={','.join(map(str, SEEDS))}")
    seconds, scores = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (way, more) in enumerate(WAYS.items()):
            ledger = Path(folder) / str(number)
            seconds[way] = sweep(ledger, options + more)
            scores[way] = [record["scores"] for record in read_ledger(ledger)]
            print(f"{way:<22} {seconds[way]:7.1f} s  {len(scores[way])} runs", flush=True)
            if len(scores[way]) != len(SEEDS):
                sys.exit(f"{way}: {len(SEEDS)} runs were to be made")
    print(f"at once / serial: {seconds[AT_ONCE] / seconds[SERIAL]:.2f}")
    print(f"scores equal to those of {REFERENCE}: {scores[AT_ONCE] == scores[REFERENCE]}")


if __name__ == "__main__":
    main()
