"""A tiny corpus, and a training on it that takes a second."""

import random

from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.trainer import pretrain
from elmo_bench.spec.config import compose
from elmo_bench.training.quiet import quiet


def made_up(count, seed=0):
    """Sentences in which each noun has one verb."""
    draw = random.Random(seed)
    pairs = [("cats", "sleep"), ("dogs", "bark"), ("birds", "sing"), ("fish", "swim")]
    for _ in range(count):
        noun, verb = draw.choice(pairs)
        yield ["the", *draw.choice([[], ["old"], ["very", "old"]]), noun, verb, "."]


def write(folder, count=400, parts=2):
    """`part-N.txt` files."""
    lines = [" ".join(sentence) for sentence in made_up(count)]
    for part in range(parts):
        text = "\n".join(lines[count * part // parts : count * (part + 1) // parts])
        (folder / f"part-{part}.txt").write_text(text + "\n", encoding="utf-8")


def overrides(corpus, out, *more):
    """Of a `pretrain` on `write`'s files that takes a second."""
    return [
        f"corpus='{corpus}/part-*.txt'", f"out={out}", "threads=1", "compile=false", "recipe.steps=60",
        "recipe.rows=8", "recipe.window=5", "recipe.vocabulary=50", "recipe.samples=10", "recipe.warmup=5",
        "recipe.optimizer.lr=0.01", "recipe.precision=32-true", "shape.char_cnn.filters=[[1,4],[2,4],[3,8]]",
        "shape.lstm.dim=16", "shape.lstm.projection_dim=8", *more,
    ]  # fmt: skip


def train(corpus, out, *more):
    """What `pretrain` returns."""
    with quiet():
        return pretrain(compose("pretrain", overrides(corpus, out, *more), folder=CONF))
