"""What the frozen layers add to training: an epoch with encoder=elmo against one with encoder=glove, the store filled.

    python benchmarks/epoch.py                                                     task=ner
    python benchmarks/epoch.py suite=open data.root=FOLDER encoder.weights=FOLDER  any option of run.py, for both

Epochs of the two are run in turn, each on a head of its own; figures are medians over the rounds, with their range. An
epoch is its training steps and the scoring of dev, without checkpoints and loggers, which are the same for both.
"""

import sys
import time
from typing import Any

import numpy as np
import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from elmo_bench.runner.prepare import prepare
from elmo_bench.runner.train import build, fill
from elmo_bench.spec.config import compose
from elmo_bench.spec.run_spec import RunSpec
from elmo_bench.training.quiet import quiet

ROUNDS = 7


class Clock(Callback):
    """Seconds (by the clock, by the processor) of the last epoch: its training steps, and all of it."""

    def on_train_epoch_start(self, trainer: pl.Trainer, module: Any) -> None:
        self.started = self.now()

    def on_validation_start(self, trainer: pl.Trainer, module: Any) -> None:
        self.training = self.now() - self.started

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        self.whole = self.now() - self.started

    @staticmethod
    def now() -> np.ndarray:
        return np.array([time.perf_counter(), time.process_time()])


class Training:
    """A run's parts, without its record."""

    def __init__(self, encoder: str, overrides: list[str]):
        self.config = compose("config", [f"encoder={encoder}", "trainer.threads=1", *overrides])
        prepared = prepare(self.config, RunSpec.of(self.config))
        trained = build(prepared)
        before = time.perf_counter()
        fill(trained, prepared, "train", "dev")
        self.filling = time.perf_counter() - before
        self.module, self.data, self.stores = trained.module, trained.loaders, trained.stores
        self.tokens = sum(map(len, prepared.texts("train")))
        head: Any = trained.module.head
        self.size = f"head input {head.embedder.dim}, {sum(p.numel() for p in head.parameters()):,} parameters"

    def epoch(self) -> np.ndarray:
        """Seconds [the training steps or the whole epoch, by the clock or by the processor]."""
        clock = Clock()
        trainer = pl.Trainer(
            accelerator=self.config.trainer.accelerator,
            devices=1,
            precision=self.config.trainer.precision,
            max_epochs=1,
            gradient_clip_val=self.config.task.training.clip,
            num_sanity_val_steps=0,
            callbacks=[clock],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(self.module, datamodule=self.data)
        return np.stack([clock.training, clock.whole])


def main(overrides: list[str]) -> None:
    found: dict[str, list[np.ndarray]] = {"glove": [], "elmo": []}
    with quiet():
        runs = {encoder: Training(encoder, overrides) for encoder in found}
        for _ in range(1 + ROUNDS):
            for encoder, run in runs.items():
                found[encoder].append(run.epoch())
    seconds = {encoder: np.stack(some[1:]) for encoder, some in found.items()}  # the first round warms up
    for encoder, run in runs.items():
        training, whole = np.median(seconds[encoder], axis=0)
        print(
            f"{encoder:<6} {whole[0]:6.2f} s an epoch ({whole[1]:.2f} s of the processor), "
            f"{run.tokens / training[0]:,.0f} ({run.tokens / training[1]:,.0f}) tokens/s in training; {run.size}"
        )
    store = runs["elmo"].stores[""]
    assert store is not None
    print(f"store of elmo: mode {store.mode}, filled or found in {runs['elmo'].filling:.2f} s")
    ratios = seconds["elmo"] / seconds["glove"]
    for place, what in enumerate(("training steps", "whole epoch")):
        by = [f"{np.median(some):.2f} ({some.min():.2f} to {some.max():.2f})" for some in ratios[:, place].T]
        print(f"elmo / glove, {what}: {by[0]} by the clock, {by[1]} by the processor")


if __name__ == "__main__":
    main(sys.argv[1:])
