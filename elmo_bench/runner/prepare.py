"""Step 1 of a run: read its data and its frozen parts, which completes its spec."""

import os
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from elmo_bench.base.errors import UserError
from elmo_bench.base.notes import noted
from elmo_bench.encoders.static import StaticVectors, load_static
from elmo_bench.runner.data import (
    Splits,
    build_data,
    check_splits,
    data_digest,
    note_long_words,
    read_splits,
    training_fraction,
    without_long_texts,
    words_of,
)
from elmo_bench.runner.model import Frozen, load_frozen
from elmo_bench.spec.run_spec import RunSpec, Setup
from elmo_bench.training.contracts import Data

_held: FileLock | None = None  # of this process's GPU, for as long as the process lives


@dataclass(frozen=True)
class Prepared:
    """Everything that a run reads before it trains."""

    spec: RunSpec  # with contents
    setup: Setup
    data: Data
    splits: Splits  # the training split cut to the fraction that the spec asks for
    frozen: Frozen
    suite_vectors: StaticVectors  # decide about slices, whatever the encoder
    notes: list[str]  # what reading the data had to decide, such as examples left out
    checks: dict[str, int]  # counts of `check_splits`, of the whole splits

    @property
    def title(self) -> str:
        """Of the run, on the screen and in logs."""
        return f"{self.spec.task} {self.spec.encoder} seed {self.setup.seed}"

    def texts(self, *splits: str) -> list[Any]:
        """The tokenised sequences of these splits."""
        return [text for split in splits for example in self.splits[split] for text in example.texts]


def prepare(spec: RunSpec, setup: Setup) -> Prepared:
    """Read data, encoder and vectors. Raises UserError for bad data or weights, and for a GPU that is missing."""
    if setup.device == "cuda":
        claim_gpu()
        if not torch.cuda.is_available():
            raise UserError("trainer=gpu: no CUDA device here; use trainer=cpu")
    with noted() as notes:
        data = build_data(spec, setup)
        splits = read_splits(data, spec, setup)
        checks = check_splits(splits, f"task={spec.task} suite={spec.suite}")
        digest = data_digest(data, splits)
        fraction, limit = spec.settings["data.train_fraction"], spec.settings["data.max_train"]
        train = without_long_texts(splits["train"])
        splits["train"] = training_fraction(train, seed=setup.seed, fraction=fraction, limit=limit)
        words = words_of([example for examples in splits.values() for example in examples])
        note_long_words(spec, words)
        frozen = load_frozen(spec, setup, words)
        suite_vectors = _suite_vectors(setup, frozen, words)
    spec = spec.with_contents({"data": digest} | frozen.contents)
    return Prepared(spec, setup, data, splits, frozen, suite_vectors, notes, checks)


def _suite_vectors(setup: Setup, frozen: Frozen, words: Collection[str]) -> StaticVectors:
    """The suite's vectors, which may be the encoder's too. Raises UserError."""
    if frozen.vectors is not None and setup.vectors == setup.suite_vectors:
        return frozen.vectors
    if not setup.suite_vectors:
        raise UserError("suite.vectors: none. Name static vectors, such as glove-6b: slices of test depend on them.")
    return load_static(setup.suite_vectors, set(words))


def claim_gpu(folder: Path | None = None) -> str | None:
    """Reserve for this process one GPU that no other process of this project has claimed; its name.

    None, and every GPU stays visible, if the machine shows fewer than two (a scheduler may have chosen one) or all are
    claimed. Must be called before the first use of CUDA. `folder` holds the claims, which end with the process.
    """
    global _held  # noqa: PLW0603
    if _held is not None or torch.cuda.is_initialized() or (count := torch.cuda.device_count()) < 2:
        return None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    names = visible if len(visible) == count else [str(number) for number in range(count)]
    folder = folder or Path(tempfile.gettempdir()) / f"elmo-bench-gpus-{os.getuid()}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        lock = FileLock(folder / f"{name}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            continue
        _held = lock
        os.environ["CUDA_VISIBLE_DEVICES"] = name
        return name
    return None
