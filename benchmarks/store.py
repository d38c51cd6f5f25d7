"""The layer store: tokens/s of reading batches from disk (page cache) and from memory, and of filling.

    python benchmarks/store.py                      256 dimensions, 3 layers, float32, one thread
    python benchmarks/store.py --dim 1024 --dtype float16
    python benchmarks/store.py --device cuda        batches on a GPU, where the store in memory is, too

Layers are random numbers that cost nothing to compute, so that the times are the store's own. Each round reads every
sentence once from disk and once from memory; figures are medians over the rounds, with their range. Beside the rate by
the clock stands the one by the processor's time, which other programs on the machine disturb less.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import gemm
import torch
from torch import Tensor

from elmo_bench.encoders.cache import LayerStore
from elmo_bench.encoders.protocol import Sentence

WORDS = (5, 32)  # of a sentence: 18.5 in the mean, as in the training part of WNUT-17


class NoEncoder:
    """Layers from a table of random numbers."""

    parameters = 0

    def __init__(self, layers: int, dim: int, device: str):
        self.layers, self.dim, self.checksum = layers, dim, f"random {layers} {dim}"
        self.device = torch.device(device)
        self.table = torch.randn(layers, WORDS[1], dim, device=device)

    def encode(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        return [self.table[:, : len(sentence)].clone() for sentence in sentences]


class Watch:
    """Seconds by the clock and by the processor since it was made."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.clock, self.processor = gemm.now(device), time.process_time()

    def rates(self, tokens: int) -> tuple[float, float]:
        return tokens / (gemm.now(self.device) - self.clock), tokens / (time.process_time() - self.processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16"])
    parser.add_argument("--sentences", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--folder", type=Path, help="where the store is made (default: the temporary folder)")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    draw = random.Random(0)
    texts: list[Sentence] = [tuple(f"{n} {i}" for i in range(draw.randint(*WORDS))) for n in range(options.sentences)]
    tokens = sum(map(len, texts))
    texts.sort(key=len)  # sentences of similar length together and batches in any order, as in training
    batches = [texts[start : start + options.batch] for start in range(0, len(texts), options.batch)]
    draw.shuffle(batches)
    encoder = NoEncoder(options.layers, options.dim, options.device)

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        plain = {"dtype": options.dtype, "max_gb": 100.0}
        stores = {
            "disk": LayerStore(encoder, mode="disk", folder=folder, **plain),
            "ram": LayerStore(encoder, mode="ram", **plain),
        }
        print(
            f"{len(texts):,} sentences, {tokens:,} tokens, {options.layers} layers of {options.dim} ({options.dtype}), "
            f"{stores['disk'].bytes_of(texts) / 1e6:,.0f} MB; batches of {options.batch}; {options.threads} thread(s)"
        )
        for name, store in stores.items():
            watch = Watch(options.device)
            store.fill(texts)
            show(f"fill {name}", [watch.rates(tokens)])
        watch = Watch(options.device)
        LayerStore(encoder, mode="disk", folder=folder, **plain).fill(texts)
        show("find in a later process", [watch.rates(tokens)])
        rates: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
        for _ in range(1 + options.rounds):
            for name, store in stores.items():
                watch = Watch(options.device)
                for batch in batches:
                    store.batch(batch)
                rates[name].append(watch.rates(tokens))
    for name, found in rates.items():
        show(f"read from {name}", found[1:])  # the first round reads the pages for the first time
    ratios = [disk[1] / ram[1] for disk, ram in zip(rates["disk"][1:], rates["ram"][1:], strict=True)]
    print(f"disk / ram: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def show(what: str, rates: Sequence[tuple[float, float]]) -> None:
    """A line with the medians of (by the clock, by the processor) and their range."""
    said = []
    for name, some in zip(("clock", "processor"), zip(*rates, strict=True), strict=True):
        spread = f" ({min(some):,.0f} to {max(some):,.0f})" if len(some) > 1 else ""
        said.append(f"{name} {statistics.median(some):>10,.0f}{spread}")
    print(f"{what + ':':<26}{'   '.join(said)} tokens/s")


if __name__ == "__main__":
    main()
