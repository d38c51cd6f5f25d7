"""Which recipe trains best per hour: held-out perplexity after the same time, for one change at a time.

    python benchmarks/recipes.py 'train-*.txt.xz' heldout.txt --minutes 5
    python benchmarks/recipes.py 'train-*.txt.xz' heldout.txt --minutes 5 "recipe.rows=64" "recipe.samples=1024"

Every variant is `pretrain` with the options of one argument. Its steps are counted first (a short training tells how
long one takes, by the time of this process, so that other work on the machine disturbs little), then it trains as many
of them as fit. One thread unless --threads says otherwise.
"""

import argparse
import tempfile
import time
from pathlib import Path

import torch

from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.corpus import Corpus, count_words, shard_files
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.perplexity import perplexity
from elmo_bench.pretraining.trainer import TextSize, Trained, train
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.spec.config import compose
from elmo_bench.training.quiet import quiet

VARIANTS = (
    "",
    "recipe.optimizer.lr=0.002",
    "recipe.optimizer.lr=0.01",
    "recipe.samples=1024",
    "recipe.samples=8192",
    "recipe.rows=64",
    "recipe.window=40 recipe.rows=64",
    "shape.lstm.projection_dim=96",
    "shape.lstm.dim=1024",
    "recipe.dropout=0.1",
    "recipe=paper recipe.vocabulary=50000",
)
WARM, TIMED = 15, 40  # steps


class Texts:
    """The corpus, counted once for each size of vocabulary."""

    def __init__(self, files: str):
        self.corpus = Corpus(tuple(shard_files(files)))
        self.counts = count_words(self.corpus)
        self.size = TextSize(self.counts.words.total(), self.counts.sentences)

    def train(self, options: list[str], steps: int) -> tuple[Trained, float]:
        """A training of so many steps; its result and its processor seconds."""
        with tempfile.TemporaryDirectory(prefix="recipes-") as out, quiet():
            given = [*options, "corpus=_", f"out={out}", f"recipe.steps={steps}", "checkpoint_minutes=600"]
            config = compose("pretrain", given, folder=CONF)
            recipe = config.recipe
            words = TargetVocabulary.of(self.counts.words, recipe.vocabulary, sentences=self.size.sentences)
            torch.manual_seed(config.seed)
            model = LanguageModel(
                BiLMOptions.from_json(config.shape), words=len(words), samples=recipe.samples, dropout=recipe.dropout
            )
            started = time.process_time()
            trained = train(model, words, self.corpus, config, text=self.size, title="train")
            return trained, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("heldout", type=Path, help="a few thousand sentences")
    parser.add_argument("variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--minutes", type=float, default=5.0, help="of training (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_intermixed_args()
    texts, heldout = Texts(options.corpus), Corpus((options.heldout,))
    for variant in options.variants:
        given = [f"threads={options.threads}", *variant.split()]
        seconds = [texts.train(given, steps)[1] for steps in (WARM, WARM, WARM + TIMED)]
        step = (seconds[2] - seconds[1]) / TIMED  # the first has compiled
        steps = max(1, int(60 * options.minutes / step))
        trained, _ = texts.train(given, steps)
        found = perplexity(trained.model.eval(), trained.vocabulary, heldout).average
        print(
            f"{variant or 'recipe=fast':<40} {steps:>6,} steps {trained.tokens / 1e6:6.2f} M tokens "
            f"{trained.tokens / steps / step:>7,.0f} tokens/s  perplexity {found:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
