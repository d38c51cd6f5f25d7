"""A head as a run builds it, for tests that look into it."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig

from elmo_bench.runner.data import build_data, read_splits, training_fraction, words_of
from elmo_bench.runner.prepare import (
    Frozen,
    LayerStore,
    Lexicon,
    build_embedder,
    build_head,
    build_indexer,
    load_frozen,
)
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.text.batch import Indexer
from tests.runs import OWN, described


@cache
def has_layers(task: str) -> bool:
    """Whether the task's head has layers, and is not a mere softmax."""
    return "hidden" in compose("config", [f"task={task}"]).task.head


@cache
def _read(task: str, suite: str, root: str | None) -> tuple[Any, dict[str, list[Any]], frozenset[str]]:
    """(data, splits, their words): reading them takes longer than building a head."""
    options = OWN.get(task) or [f"suite={suite}", *([f"data.root={root}"] if root else [])]
    spec, setup = described(f"task={task}", *options)
    data = build_data(spec, setup)
    splits = read_splits(data, spec, setup)
    return data, splits, frozenset(words_of([example for examples in splits.values() for example in examples]))


@dataclass
class Built:
    """A head, what it was built from, and examples."""

    config: DictConfig
    spec: RunSpec
    data: Any
    splits: dict[str, list[Any]]
    train: list[Any]
    frozen: Frozen
    head: Any

    @property
    def index(self) -> Indexer:
        stores = {part: LayerStore(encoder, mode="ram") for part, encoder in self.frozen.encoders.items()}
        return build_indexer(self.head.embedder, stores)

    def again(self, *, seed: int) -> Any:
        """The same head with other initial weights."""
        pl.seed_everything(seed, verbose=False)
        embedder = build_embedder(self.spec, self.frozen, Lexicon.of(self.train))
        return build_head(self.spec, embedder, self.data.vocabulary(self.train))


def built(task: str, *overrides: str, train: list[Any] | None = None) -> Built:
    """The head of a run with these overrides; `train`: these training examples instead of the suite's."""
    config = compose("config", [f"task={task}", *OWN.get(task, []), *overrides])
    spec, setup = RunSpec.of(config), Setup.of(config)
    data, splits, words = _read(task, config.suite.name, config.data.root)
    fraction, limit = config.data.train_fraction, config.data.max_train
    train = train or training_fraction(splits["train"], seed=config.seed, fraction=fraction, limit=limit)
    made = Built(config, spec, data, splits, train, load_frozen(spec, setup, words.union(words_of(train))), None)
    made.head = made.again(seed=0)
    return made


def build(task: str, *overrides: str, train: list[Any] | None = None) -> tuple[DictConfig, list[Any], Any, Indexer]:
    """(config, training examples, head, indexer) of `built`."""
    made = built(task, *overrides, train=train)
    return made.config, made.train, made.head, made.index


def both_ways(x, layer):
    """A bidirectional layer over one sequence, without padding: [T, D] -> [T, 2H]."""
    return torch.cat([layer.forwards(x)[0], layer.backwards(x.flip(0))[0].flip(0)], dim=1)
