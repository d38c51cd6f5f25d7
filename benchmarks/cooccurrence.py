"""Counting of `pretrain-static`: tokens/s of words and of pairs, with one process and with several, in one run.

    python benchmarks/cooccurrence.py 'shards/train-0[0-3].txt.xz'              1 and 2 processes
    python benchmarks/cooccurrence.py 'shards/*.txt.xz' --processes 1,4,16 --rounds 1

Each round counts the whole text once with each number of processes; a ratio is that of one round, figures are medians
over the rounds with their range. Starting the processes is counted, the text is in the page cache, and the results are
compared bit for bit. A file of up to 32 MB is counted by one process: give at least as many files as processes.
"""

import argparse
import os
import resource
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from elmo_bench.pretraining.cooccurrence import cooccurrence, vocabulary
from elmo_bench.pretraining.corpus import shard_files

STAGES = ("words", "pairs", "both")
ARRAYS = ("data", "indices", "indptr")


def count(files: list[Path], size: int, processes: int) -> tuple[list[float], int, csr_matrix]:
    """Seconds of STAGES, tokens, and the counts."""
    started = time.perf_counter()
    words, tokens = vocabulary(files, size=size, min_count=5, processes=processes)
    between = time.perf_counter()
    counts = cooccurrence(files, words, window=10, processes=processes)
    end = time.perf_counter()
    return [between - started, end - between, end - started], tokens, counts


def spread(values: Sequence[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="a pattern of files, one tokenised sentence a line")
    parser.add_argument("--processes", default="1,2", help="the first is what the others are compared with")
    parser.add_argument("--vocab-size", type=int, default=30800)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    files, numbers = shard_files(options.corpus), [int(number) for number in options.processes.split(",")]

    for file in files:
        file.read_bytes()
    seconds: dict[int, list[list[float]]] = {number: [] for number in numbers}
    first: csr_matrix | None = None
    for _ in range(options.rounds):
        for number in numbers:
            taken, tokens, counts = count(files, options.vocab_size, number)
            seconds[number].append(taken)
            first = counts if first is None else first
            if not all(np.array_equal(getattr(first, name), getattr(counts, name)) for name in ARRAYS):
                raise SystemExit(f"{number} processes count something else than {numbers[0]}")
    print(
        f"{len(files)} files, {tokens:,} tokens, {counts.nnz:,} cells; {os.cpu_count()} cores; {options.rounds} rounds"
    )
    for number in numbers:
        for stage, name in enumerate(STAGES):
            rates = [tokens / taken[stage] / 1e6 for taken in seconds[number]]
            pairs = zip(seconds[numbers[0]], seconds[number], strict=True)
            ratios = [alone[stage] / shared[stage] for alone, shared in pairs]
            print(f"{number:>3} process(es), {name}: {spread(rates, '.2f')} M tokens/s, ratio {spread(ratios, '.2f')}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"memory of this process at most: {peak:,.0f} MB")


if __name__ == "__main__":
    main()
