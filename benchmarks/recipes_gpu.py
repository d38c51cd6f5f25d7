"""Which variant of `recipe=gpu` is best after the same seconds on one GPU: held-out perplexity, one change at a time.

    python benchmarks/recipes_gpu.py 'train-*.txt.xz' heldout.txt.xz /tmp/compare --seconds 40
    python benchmarks/recipes_gpu.py 'train-*.txt.xz' heldout.txt.xz /tmp/compare "recipe.optimizer.lr=0.002"

Every variant is `pretrain recipe=gpu shape=wide` with the options of one argument. A short training comes first and
is not shown: it compiles the kernels.
"""

import argparse
import os
import traceback
from pathlib import Path

import torch

from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.corpus import Corpus, shard_files
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.resident.encode import encode
from elmo_bench.pretraining.resident.loop import Resident
from elmo_bench.spec.config import compose

VARIANTS = (
    "",
    "recipe.optimizer.lr=0.002",
    "recipe.optimizer.lr=0.008",
    "recipe.muon={lr:0.005,weight_decay:0.01}",
    "recipe.muon={lr:0.01,weight_decay:0.01}",
    "recipe.full_from=0",
    "recipe.cells=16384",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("heldout")
    parser.add_argument("folder", type=Path, help="for the text as numbers, and the curves")
    parser.add_argument("variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--seconds", type=float, default=40.0, help="of training (default: %(default)s)")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_intermixed_args()
    corpus, heldout = (Corpus(tuple(shard_files(files))) for files in (options.corpus, options.heldout))
    encoded, vocabulary = encode(corpus, heldout, options.folder / "encoded", words=50_000, threads=os.cpu_count() or 1)
    table = []
    for number, variant in enumerate([options.variants[0], *options.variants]):
        seconds = options.seconds if number else 6
        given = [
            "recipe=gpu", "shape=wide", "corpus=_", f"out={options.folder}/{number}", f"recipe.minutes={seconds / 60}",
            "checkpoint_minutes=600", "recipe.warmup=100", "recipe.precision=bf16-mixed", *variant.split(),
        ]  # fmt: skip
        config = compose("pretrain", given, folder=CONF)
        torch.manual_seed(config.seed)
        model = LanguageModel(
            BiLMOptions.from_json(config.shape), words=len(vocabulary), samples=0, dropout=config.recipe.dropout
        )
        try:
            training = Resident(model, encoded, config, options.device)
            training.run(variant or "recipe=gpu")
            found = training.check()
        except Exception:  # a variant that does not fit in memory leaves the others
            traceback.print_exc()
            continue
        memory = torch.cuda.max_memory_reserved() / 2**30 if options.device == "cuda" else 0.0
        row = (
            f"{variant or 'recipe=gpu':<45} {training.step:>6,} steps {training.read / 1e6:7.2f} M tokens "
            f"{training.read / seconds:>9,.0f} tokens/s {memory:5.1f} GiB  perplexity {found:7.1f}"
        )
        print(row, flush=True)
        table += [row] if number else []
        del training, model
        if options.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
    print("\n".join(["", *table]))


if __name__ == "__main__":
    main()
