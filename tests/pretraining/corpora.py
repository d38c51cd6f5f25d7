"""A tiny corpus, and a training on it that takes a second."""

import csv
import random

from elmo_bench.pretraining import CONF
from elmo_bench.pretraining.encode import Corpus, encode
from elmo_bench.pretraining.trainer import pretrain
from elmo_bench.spec.config import compose


def made_up(count, seed=0):
    """Sentences in which each noun has one verb."""
    draw = random.Random(seed)
    pairs = [("cats", "sleep"), ("dogs", "bark"), ("birds", "sing"), ("fish", "swim")]
    for _ in range(count):
        noun, verb = draw.choice(pairs)
        yield ["the", *draw.choice([[], ["old"], ["very", "old"]]), noun, verb, "."]


def write(folder, count=400, parts=2):
    """`part-N.txt` files, and `heldout.txt`."""
    lines = [" ".join(sentence) for sentence in made_up(count)]
    for part in range(parts):
        text = "\n".join(lines[count * part // parts : count * (part + 1) // parts])
        (folder / f"part-{part}.txt").write_text(text + "\n", encoding="utf-8")
    heldout = "\n".join(" ".join(sentence) for sentence in made_up(120, seed=9))
    (folder / "heldout.txt").write_text(f"{heldout}\nthe fish swim backwards .\n", encoding="utf-8")


def overrides(corpus, out, *more):
    """Options of a `pretrain` on `write`'s files that takes a second."""
    usual = [
        f"corpus='{corpus}/part-*.txt'", f"out={out}", "threads=1", "recipe.steps=60", "recipe.cells=40",
        "recipe.vocabulary=50", "recipe.samples=10", "recipe.warmup=5", "recipe.optimizer.lr=0.02",
        "shape.char_cnn.filters=[[1,4],[2,4],[3,8]]", "shape.lstm.dim=16", "shape.lstm.projection_dim=8",
    ]  # fmt: skip
    given = {option.partition("=")[0] for option in more}
    return [*(option for option in usual if option.partition("=")[0] not in given), *more]


def train(corpus, out, *more):
    """The training of `pretrain`."""
    return pretrain(compose("pretrain", overrides(corpus, out, *more), folder=CONF))[0]


def curve(out):
    """[[step, targets, forward, backward, rate]] of `curve.csv`."""
    with (out / "curve.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["step", "tokens", "forward", "backward", "rate"]
    return [[float(cell) for cell in row] for row in rows]


def encoded(path, sentences, vocabulary=50):
    """Sentences, written to a file and encoded."""
    path.write_text("".join(f"{' '.join(sentence)}\n" for sentence in sentences), encoding="utf-8")
    return encode(Corpus((path,)), vocabulary)
