"""What numbers smaller than 1.2e-38 (subnormal ones) cost, and which of the recorded runs slowed down.

    python benchmarks/subnormals.py            # --ledger FOLDER

The first table is a product of attention's shape, softmax weights [32, 30, 30] with values [32, 30, 300], on one
thread: its time by the share of weights that are subnormal, and with these as zeros, as while a run trains
(`elmo_bench.base.machine.subnormals_as_zeros`). Medians of 50 turns.

The second has, for each task and encoder, the wall time of an epoch in the last fifth of a run over the time of as many
epochs after the first: the median and range of the runs, whatever else they change. A machine that was busy at one
end of a run shows too, in the range. A run of less than ten epochs is left out.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import torch

from elmo_bench.base.machine import subnormals_as_zeros
from elmo_bench.ledger import read_all
from elmo_bench.spec.names import metric_of

SHARES = (0.0, 0.05, 0.14, 0.5)
SUBNORMAL = 1e-40
TURNS = 50
FEWEST_EPOCHS = 10


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="What subnormal numbers cost.")
    parser.add_argument("--ledger", type=Path, default=Path("results/runs"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| weights that are subnormal | ms | ms as zeros |")
    print("|---:|---:|---:|")
    for share in SHARES:
        print(f"| {share:.0%} | {milliseconds(share, as_zeros=False):.2f} | {milliseconds(share, as_zeros=True):.2f} |")
    print()
    print("| task | encoder | runs | last epochs over first | range |")
    print("|---|---|---:|---:|---|")
    for (task, encoder), ratios in sorted(slower_at_the_end(options.ledger).items()):
        median = statistics.median(ratios)
        print(f"| {task} | {encoder} | {len(ratios)} | {median:.2f} | {min(ratios):.2f} to {max(ratios):.2f} |")
    return 0


def milliseconds(share: float, *, as_zeros: bool) -> float:
    """Of one product, where `share` of the weights are subnormal."""
    draw = torch.Generator().manual_seed(0)
    weights = torch.rand(32, 30, 30, generator=draw)
    chosen = torch.rand(weights.shape, generator=draw) < share
    weights = torch.where(chosen, torch.tensor(SUBNORMAL), weights)
    values = torch.randn(32, 30, 300, generator=draw)
    times = []
    with subnormals_as_zeros() if as_zeros else nullcontext():
        for _ in range(TURNS):
            start = time.perf_counter()
            weights @ values
            times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def slower_at_the_end(ledger: Path) -> dict[tuple[str, str], list[float]]:
    """{(task, encoder): `late_over_early` of each run with ten epochs or more}."""
    found = defaultdict(list)
    for record in read_all(ledger, metrics=metric_of).records:
        if len(record.curves.seconds) >= FEWEST_EPOCHS:
            found[record.spec.task, record.spec.encoder].append(late_over_early(record.curves.seconds))
    return found


def late_over_early(seconds: Sequence[float]) -> float:
    """The median time of the last fifth of the epochs over that of as many after the first, which warms up."""
    fifth = len(seconds) // 5
    return statistics.median(seconds[-fifth:]) / statistics.median(seconds[1 : 1 + fifth])


if __name__ == "__main__":
    sys.exit(main())
