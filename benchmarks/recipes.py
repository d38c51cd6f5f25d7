"""Which recipe trains best per hour: held-out perplexity after the same time, for one change at a time.

    python benchmarks/recipes.py 'train-*.txt.xz' heldout.txt --minutes 5
    python benchmarks/recipes.py 'train-*.txt.xz' heldout.txt --minutes 5 "recipe.rows=64" "recipe.samples=1024"

Every variant is `pretrain` with the options of one argument, and `adaptive` an adaptive softmax instead of the sampled
one. Its steps are counted first (a short training tells how long one takes, by the time of this process, so that other
work on the machine disturbs little), then it trains as many of them as fit. One thread unless --threads says otherwise.
"""

import argparse
import math
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.pretraining import CONF
from elmo_bench.pretraining import model as language_model
from elmo_bench.pretraining.corpus import Corpus, count_words, shard_files
from elmo_bench.pretraining.perplexity import Alone, perplexity, pooled
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
    "adaptive",
)
WARM, TIMED = 15, 40  # steps


class Adaptive(nn.Module):
    """torch's adaptive softmax in the place of the sampled one; a quarter of the width for each rarer part."""

    def __init__(self, *, words: int, features: int, samples: int):
        super().__init__()
        self.bias = torch.empty(words)
        cutoffs = [part for part in (2000, 10_000) if part < words - 1]
        self.inner = nn.AdaptiveLogSoftmaxWithLoss(features, words, cutoffs, div_value=2.0)

    def sampled(self, x: Tensor, targets: Tensor) -> Tensor:
        """Features [2, N, P], targets [2, N] -> mean loss [2]."""
        return torch.stack([self.inner(x[d], targets[d]).loss for d in (0, 1)])


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
            model = language_model.LanguageModel(
                BiLMOptions.from_json(config.shape), words=len(words), samples=recipe.samples, dropout=recipe.dropout
            )
            started = time.process_time()
            trained = train(model, words, self.corpus, config, text=self.size, title="train")
            return trained, time.process_time() - started


def heldout(trained: Trained, corpus: Corpus) -> float:
    """Average perplexity; of an adaptive softmax by its own probabilities."""
    model = trained.model.eval()
    if not isinstance(model.softmax, Adaptive):
        return perplexity(model, trained.vocabulary, corpus).average
    alone, total, count = Alone(model.bilm, trained.vocabulary), 0.0, 0
    with torch.no_grad():
        for stretch in pooled(corpus.sentences(corpus.files[0])):
            for pool in stretch:
                for tops, targets in alone.tops(pool):
                    losses = [model.softmax.inner(x, y).output for x, y in zip(tops, targets, strict=True)]
                    total, count = total - sum(float(part.sum()) for part in losses), count + targets.numel()
    return math.exp(total / count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("heldout", type=Path, help="a few thousand sentences")
    parser.add_argument("variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--minutes", type=float, default=5.0, help="of training (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_intermixed_args()
    sampled = language_model.SampledSoftmax
    texts = Texts(options.corpus)
    for variant in options.variants:
        adaptive = variant == "adaptive"
        language_model.SampledSoftmax = Adaptive if adaptive else sampled  # type: ignore[misc,assignment]
        given = [f"threads={options.threads}", *([] if adaptive else variant.split())]
        seconds = [texts.train(given, steps)[1] for steps in (WARM, WARM, WARM + TIMED)]
        step = (seconds[2] - seconds[1]) / TIMED  # the first has compiled
        steps = max(1, int(60 * options.minutes / step))
        trained, _ = texts.train(given, steps)
        found = heldout(trained, Corpus((options.heldout,)))
        print(
            f"{variant or 'recipe=fast':<40} {steps:>6,} steps {trained.tokens / 1e6:6.2f} M tokens "
            f"{trained.tokens / steps / step:>7,.0f} tokens/s  perplexity {found:7.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
