"""Tokens per second with one thread, two, and as many as the program chooses, on an idle and on a busy machine.

    python benchmarks/threads.py                     busy: as many endless loops as there are cores
    python benchmarks/threads.py --rounds 3 --loops 0,2,4

`encode` is `ElmoEncoder.encode` of elmo-mini, `train` a short run (task=ner encoder=elmo). `spin` is what
OpenMP does by default; otherwise its threads sleep while they wait. Each figure is the median over rounds, in which
all variants take turns; "choose" prints how many threads it took.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

SHORT = ("task=ner", "encoder=elmo", "data.max_train=300", "task.training.epochs=2", "logger=none", "store=ram")
VARIANTS = {"1 thread": 1, "2 threads, spin": 2, "2 threads": 2, "choose": None}


def encode(threads: int | None, sentences: Path) -> float:
    """In a process of its own: tokens per second."""
    import torch

    from elmo_bench import ElmoEncoder
    from elmo_bench.base.threads import choose_threads

    text = [line.split() for line in sentences.read_text(encoding="utf-8").splitlines()]
    encoder = ElmoEncoder(weights="mini")
    started = time.monotonic()  # the choice costs time too
    torch.set_num_threads(choose_threads(threads, "encode"))
    encoder.encode(text)
    return sum(map(len, text)) / (time.monotonic() - started)


def measure(kind: str, variant: str, sentences: Path) -> float:
    """Tokens per second of one variant, in a new process."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "MKL_", "GOMP_"))}
    environment["OMP_WAIT_POLICY"] = "active" if "spin" in variant else "passive"
    if "spin" in variant:
        environment["GOMP_SPINCOUNT"] = "300000"  # libgomp's own default, which "active" would raise
    threads = VARIANTS[variant]
    if kind == "encode":
        command = [sys.executable, __file__, "--encode", str(threads), str(sentences)]
        return float(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    with tempfile.TemporaryDirectory() as ledger:
        given = [f"trainer.threads={threads}"] if threads else []
        command = [sys.executable, "-m", "elmo_bench", "run", *SHORT, *given, f"ledger={ledger}"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        [record] = Path(ledger).rglob("seed0.json")
        return float(json.loads(record.read_text(encoding="utf-8"))["cost"]["tokens_per_second"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encode", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--loops", default=f"0,{os.cpu_count()}", help="busy processes next to the measured one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=Path, help="one tokenised sentence a line (default: $ELMO_BENCH_DATA's)")
    parser.add_argument("--kinds", default="encode,train")
    options = parser.parse_args()
    if options.encode:
        threads, sentences = options.encode
        print(encode(None if threads == "None" else int(threads), Path(sentences)))
        return
    with tempfile.TemporaryDirectory() as folder:
        text = options.sentences or Path(folder) / "text"
        if options.sentences is None:
            from inputs import read_sentences

            text.write_text("".join(" ".join(line) + "\n" for line in read_sentences(None, 3000)), encoding="utf-8")
        for loops in map(int, options.loops.split(",")):
            busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
            try:
                time.sleep(1)
                for kind in options.kinds.split(","):
                    found: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
                    for _ in range(options.rounds):
                        for variant, rates in found.items():
                            rates.append(measure(kind, variant, text))
                    figures = ", ".join(f"{name} {median(rates):,.0f}" for name, rates in found.items())
                    load = os.getloadavg()[0]
                    print(f"{loops} busy loops, {kind}, tokens/s: {figures} (load {load:.1f})", flush=True)
            finally:
                for process in busy:
                    process.kill()


if __name__ == "__main__":
    main()
