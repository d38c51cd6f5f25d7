"""A head as a run builds it, for tests that look into it."""

from functools import cache

import pytorch_lightning as pl
import torch

from elmo_bench.encoders.cache import LayerStore
from elmo_bench.runner.data import build_data, words_of
from elmo_bench.runner.model import Lexicon, build_embedder, build_head, build_indexer, load_frozen
from elmo_bench.runner.prepare import prepare
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec


@cache
def has_layers(task):
    """Whether the task's head has layers, and is not a mere softmax."""
    return "hidden" in compose("config", [f"task={task}"]).task.sizes.cpu


def build(task, *overrides, train=None):
    """(config, training examples, head, indexer) of a run with these overrides; `train`: these examples instead."""
    config = compose("config", [f"task={task}", *overrides])
    spec = RunSpec.of(config)
    if train:
        data, frozen = build_data(config), load_frozen(config, words_of(train))
    else:
        prepared = prepare(config, spec)
        data, frozen, train = prepared.data, prepared.frozen, prepared.splits["train"]
    pl.seed_everything(0, verbose=False)
    embedder = build_embedder(spec, frozen, Lexicon.of(train))
    head = build_head(spec, embedder, data.vocabulary(train))
    store = LayerStore(frozen.encoder, mode="ram") if frozen.encoder else None
    return config, train, head, build_indexer(embedder, store)


def both_ways(x, layer):
    """A bidirectional layer over one text, without padding: [T, D] -> [T, 2H]."""
    return torch.cat([layer.forwards(x)[0], layer.backwards(x.flip(0))[0].flip(0)], dim=1)
