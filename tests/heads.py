"""A head as a run builds it, for tests that look into it."""

from functools import cache

import hydra
import pytorch_lightning as pl
import torch

from elmo_bench.encoders.cache import LayerStore
from elmo_bench.runner.parts import build_embedder, build_indexer, load_frozen, read_data
from elmo_bench.spec.config import compose


@cache
def has_layers(task):
    """Whether the task's head has layers at all, and is no mere softmax."""
    return "hidden" in compose("config", [f"task={task}"]).task.sizes.cpu


def build(task, *overrides, train=None):
    """(config, training examples, head, indexer) of a run with these overrides; `train`: these examples instead."""
    config = compose("config", [f"task={task}", *overrides])
    data = hydra.utils.instantiate(config.task.data)
    splits = {"train": train} if train else read_data(config, data)
    frozen = load_frozen(config, splits)
    pl.seed_everything(0, verbose=False)
    embedder = build_embedder(config, frozen, splits["train"])
    head = hydra.utils.instantiate(config.task.head)(embedder, **data.vocabulary(splits["train"]))
    store = LayerStore(frozen.encoder, mode="ram") if frozen.encoder else None
    return config, splits["train"], head, build_indexer(embedder, store)


def both_ways(x, layer):
    """A bidirectional layer over one text, without padding: [T, D] -> [T, 2H]."""
    return torch.cat([layer.onward(x)[0], layer.returning(x.flip(0))[0].flip(0)], dim=1)
