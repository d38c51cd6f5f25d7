"""Memory of `elmo-bench embed` on a long file: is it flat?  (Linux)

    python benchmarks/embed_memory.py            # a million sentences of five words, --weights mini --average
    python benchmarks/embed_memory.py --sentences 100_000

The text is made here from a fixed seed: words by rank as in a language (Zipf), and one word in twenty that occurs
nowhere else, so that caches of words fill up. The command runs as a user runs it, and its resident memory is sampled.
At the end of the run the output is put together.
"""

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VOCABULARY = 30_000
LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
EVERY = 0.1  # seconds between samples
PAGE = 4096
ROOT = Path(__file__).resolve().parents[1]


def generate(path: Path, *, sentences: int, length: int, seed: int = 0) -> None:
    """Write the text."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(LETTERS[:16], k=rng.randint(1, 12))) for _ in range(VOCABULARY)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    with path.open("w", encoding="utf-8") as file:
        for _ in range(sentences):
            line = rng.choices(words, cum_weights=weights, k=length)
            for place in range(length):
                if rng.random() < 0.05:
                    line[place] = f"{rng.randrange(10**9):x}"
            file.write(" ".join(line) + "\n")


def watch(command: list[str]) -> tuple[list[float], str, float]:
    """Run a command to its end: its resident megabytes every EVERY seconds, what it printed, its seconds."""
    samples = []
    started = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            pages = Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()
            if len(pages) > 1:
                samples.append(int(pages[1]) * PAGE / 1e6)
            time.sleep(EVERY)
        assert process.stdout is not None
        said = process.stdout.read().strip()
    if process.returncode:
        sys.exit(process.returncode)
    return samples, said, time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description="Is the memory of `embed` flat over a long file?")
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=5, help="words of a sentence (default: %(default)s)")
    parser.add_argument("--weights", default="mini")
    parser.add_argument("--mode", default="average", help="all, top or average (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="embed-memory-") as folder:
        text, out = Path(folder, "sentences.txt"), Path(folder, "out.h5")
        generate(text, sentences=options.sentences, length=options.length)
        command = [sys.executable, "-m", "elmo_bench", "embed", str(text), str(out)]
        samples, said, seconds = watch([*command, "--weights", options.weights, f"--{options.mode}"])
        print(said)
        tenth = len(samples) // 10
        print(f"{options.sentences * options.length / seconds:,.0f} tokens/s")
        tenths = ", ".join(f"{max(samples[n * tenth : (n + 1) * tenth]):,.0f}" for n in range(10))
        print(f"MB at most, by tenths of the run: {tenths}")


if __name__ == "__main__":
    main()
