"""How far the layers of other precisions lie from float32.

python benchmarks/precision.py --sentences heldout.txt.xz
"""

import argparse
from itertools import islice
from pathlib import Path

import torch

from elmo_bench.base.files import read_lines
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.kernels import PRECISIONS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=Path, required=True, help="one tokenised sentence a line; .txt .gz .xz")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--weights", default="mini")
    options = parser.parse_args()
    sentences = [line.split() for _, line in islice(read_lines(options.sentences), options.count)]
    exact = torch.cat([*ElmoEncoder(weights=options.weights).encode(sentences)], dim=1)  # LTD
    print(f"{len(sentences):,} sentences, {exact.shape[1]:,} tokens; layers reach {exact.abs().max():.1f}")
    for precision in PRECISIONS[1:]:
        layers = torch.cat(ElmoEncoder(weights=options.weights, precision=precision).encode(sentences), dim=1)
        off = layers - exact
        rms = off.square().mean(dim=(1, 2)).sqrt() / exact.square().mean(dim=(1, 2)).sqrt()
        by = ", ".join(f"{100 * layer:.2f}" for layer in rms)
        print(f"{precision:<9} rms by layer {by} % of the layer's; worst {off.abs().max():.3f}")


if __name__ == "__main__":
    main()
