"""Step 1 of a run: read its data and its frozen parts, which completes its spec."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from omegaconf import DictConfig

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.runner.data import (
    Splits,
    build_data,
    data_digest,
    note_long_words,
    read_splits,
    training_fraction,
    without_long_texts,
    words_of,
)
from elmo_bench.runner.gpus import claim_gpu
from elmo_bench.runner.model import Frozen, load_frozen
from elmo_bench.runner.split_checks import check_splits
from elmo_bench.runner.units import Rare
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.training.contracts import Data


@dataclass(frozen=True)
class Prepared:
    """Everything that a run reads before it trains."""

    config: DictConfig
    spec: RunSpec  # with contents
    data: Data
    splits: Splits  # the training split cut to the fraction that the spec asks for
    frozen: Frozen
    rare: Rare  # words of dev and test, for slices
    notes: list[str]  # what reading the data had to decide, such as examples left out
    checks: dict[str, int]  # counts of `split_checks.py`, of the whole splits

    @property
    def title(self) -> str:
        """Of the run, on the screen and in logs."""
        return f"{self.spec.task} {self.spec.encoder} seed {self.config.seed}"

    def texts(self, *splits: str) -> list[Any]:
        """The tokenised sequences of these splits."""
        return [text for split in splits for example in self.splits[split] for text in example.texts]


def prepare(config: DictConfig, spec: RunSpec) -> Prepared:
    """Read data, encoder and vectors. Raises UserError for bad data or weights, and for a GPU that is missing."""
    if config.trainer.device == "cuda":
        claim_gpu()
        if not torch.cuda.is_available():
            raise UserError("trainer=gpu: no CUDA device here; use trainer=cpu")
    with noted() as notes:
        data = build_data(config)
        splits = read_splits(config, data)
        checks = check_splits(splits, f"task={config.task.name} suite={config.suite.name}")
        digest = data_digest(data, splits)
        fraction, limit = spec.settings["data.train_fraction"], spec.settings["data.max_train"]
        splits["train"] = training_fraction(
            without_long_texts(splits["train"]), seed=config.seed, fraction=fraction, limit=limit
        )
        words = words_of([example for examples in splits.values() for example in examples])
        note_long_words(spec, words)
        frozen = load_frozen(config, words)
        rare = Rare.of(splits, _suite_vectors(config, frozen, words))
    spec = spec.with_contents({"data": digest} | frozen.contents)
    return Prepared(config, spec, data, splits, frozen, rare, notes, checks)


def _suite_vectors(config: DictConfig, frozen: Frozen, words: Collection[str]) -> StaticVectors:
    """The suite's vectors, which may be the encoder's too. Raises UserError."""
    if frozen.vectors is not None and config.encoder.vectors == config.suite.vectors:
        return frozen.vectors
    if not config.suite.vectors:
        raise UserError("suite.vectors: none. Name static vectors, such as glove-6b: slices of test depend on them.")
    return load_static(config.suite.vectors, set(words))
