"""A head as a run builds it, for tests that look into it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from omegaconf import DictConfig

from elmo_bench.runner.contract import Trial
from elmo_bench.runner.data import build_data, read_splits, training_fraction
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_setup import Setup
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.text.batch import Indexer
from tests.runs import GOLDEN, OWN, described


@cache
def has_layers(task: str) -> bool:
    """Whether the task's head has layers, and is not a mere softmax."""
    return "hidden" in compose("config", [f"task={task}"]).task.head


@cache
def _read(task: str, suite: str, root: str | None) -> tuple[Any, dict[str, list[Any]]]:
    """(data, splits): reading them takes longer than building a head."""
    options = OWN.get(task) or [f"suite={suite}", *([f"data.root={root}"] if root else [])]
    spec, setup = described(f"task={task}", *options)
    data = build_data(spec, setup)
    return data, read_splits(data, spec, setup)


def built(task: str, *overrides: str, train: list[Any] | None = None) -> Trial:
    """The head of a run with these overrides; `train`: these training examples instead of the suite's."""
    config = compose("config", [f"task={task}", *OWN.get(task, []), *overrides])
    data, splits = _read(task, config.suite.name, config.data.root)
    fraction, limit = config.data.train_fraction, config.data.max_train
    train = train or training_fraction(splits["train"], seed=config.seed, fraction=fraction, limit=limit)
    return Trial((RunSpec.of(config), Setup.of(config)), data, splits, train)


def build(task: str, *overrides: str, train: list[Any] | None = None) -> tuple[DictConfig, list[Any], Any, Indexer]:
    """(config, training examples, head, indexer) of `built`."""
    made = built(task, *overrides, train=train)
    return compose("config", [f"task={task}", *overrides]), made.train, made.head, made.index


def check_scores(task: str, plainly: Callable, *overrides: str, prepare: Callable = lambda head: None) -> Trial:
    """The scores of a batch equal `plainly(head, example, index)` of each example; returns what was built.

    ELMo is at both places; `prepare` may change the head.
    """
    made = built(task, "encoder=elmo", f"encoder.weights={GOLDEN}", "place=both", *overrides)
    assert made.head.embedder.output_dim > 0
    assert len({len(text) for example in made.train for text in example.texts}) > 3
    prepare(made.head.eval())
    with torch.no_grad():
        together = made.head(made.head.collate(made.train, made.index))
        for scores, example in zip(together, made.train, strict=True):
            expected = plainly(made.head, example, made.index)
            torch.testing.assert_close(scores[: len(expected)], expected, atol=1e-5, rtol=1e-4)
    return made


def linear(x, layer):
    """A layer of weights and biases, written out."""
    return x @ layer.weight.T + layer.bias


def both_ways(x, layer):
    """A bidirectional layer over one sequence, without padding: [T, D] -> [T, 2H]."""
    return torch.cat([layer.forwards(x)[0], layer.backwards(x.flip(0))[0].flip(0)], dim=1)
