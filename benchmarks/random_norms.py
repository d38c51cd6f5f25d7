"""The scales of the encoder `random`: what makes its layers as long as elmo-mini's.

python benchmarks/random_norms.py --root data
The text: 500 sentences of WNUT-17's train and 500 of SNLI's dev, drawn with a fixed seed.
"""

import argparse
import random

import torch
from torch import Tensor

from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.initial import untrained
from elmo_bench.encoders.protocol import Encoder
from elmo_bench.runner.data import build_data, distinct_texts, read_splits
from elmo_bench.spec.config import compose

TEXTS = (("ner", "train"), ("snli", "dev"))
Sentences = list[tuple[str, ...]]


def sentences(task: str, split: str, root: str, count: int = 500) -> Sentences:
    """Distinct tokenised sentences of a split of the open suite."""
    config = compose("config", [f"task={task}", "suite=open", f"data.root={root}"])
    texts = [text for text in distinct_texts(read_splits(config, build_data(config))[split]) if text]
    return random.Random(0).sample(texts, count)


def norms(encoder: Encoder, texts: Sentences) -> Tensor:
    """The mean norm of each layer over all tokens, [L]."""
    return torch.cat([layers.norm(dim=2) for layers in encoder.encode(texts)], dim=1).mean(dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="the data of the open suite")
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    texts = [text for task, split in TEXTS for text in sentences(task, split, options.root)]
    mini = ElmoEncoder()
    print(f"{len(texts):,} sentences, {sum(map(len, texts)):,} tokens; mean norms of layers, lowest first")
    print(f"elmo-mini  {_shown(target := norms(mini, texts))}")
    found = torch.stack(
        [norms(ElmoEncoder.of(*untrained(mini.bilm.options, seed=seed)), texts) for seed in range(options.seeds)]
    )
    for name, values in (("untrained", found.mean(dim=0)), ("least", found.amin(dim=0)), ("most", found.amax(dim=0))):
        print(f"{name:<10} {_shown(values)}")
    off = 100 * (found / found.mean(dim=0) - 1).abs().amax()
    print(f"scaled: at most {off:.0f} % from elmo-mini's with any of {len(found)} seeds")
    print(f"scales: [{_shown(target / found.mean(dim=0), ', ')}]")


def _shown(values: Tensor, between: str = "  ") -> str:
    return between.join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    main()
