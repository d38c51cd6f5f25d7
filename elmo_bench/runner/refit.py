"""refit=true: once dev has chosen the epoch, train the head once more on train and dev.

This head is then kept, for `predict`, `load` and `export`. The record keeps the scores
of the head that was trained without dev: no split is left to score the new head on.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import read_checkpoint
from elmo_bench.base.machine import subnormals_as_zeros
from elmo_bench.base.progress import Clock, console
from elmo_bench.encoders.tuning import tuned_part
from elmo_bench.runner.data import all_words, without_long_texts
from elmo_bench.runner.prepare import Prepared, load_frozen
from elmo_bench.runner.train import (
    Trained,
    build,
    fill,
    is_stateful,
    make_trainer,
)
from elmo_bench.spec.task_files import FLOOR
from elmo_bench.training.callbacks import GpuMemory, ShowProgress
from elmo_bench.training.random_state import RandomState

FOLDER = "refit"  # of its checkpoints, in the folder of the run


@dataclass
class Refitted:
    """A head that was trained on train and dev, and what a record says of it."""

    trained: Trained
    of_record: dict[str, Any]


class Upto(Callback):
    """Ends the training after so many epochs, with a checkpoint after each.

    The schedule of the rate still spans all epochs, so each epoch has the rates that it
    had when dev chose among them.

    identity: what has to be equal for a checkpoint to be resumed. clock: of the refit;
    a checkpoint keeps what it read.
    """

    def __init__(
        self, epochs: int, folder: Path, identity: dict[str, Any], clock: Clock
    ):
        self.epochs = epochs
        self.folder = folder
        self.identity = identity
        self.clock = clock

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        trainer.save_checkpoint(self.folder / "last.ckpt")
        if trainer.current_epoch + 1 >= self.epochs:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        return self.identity | {"seconds": self.clock.read()}


def refit(prepared: Prepared, epochs: int, work: Path) -> Refitted:
    """Train the run's head for so many epochs on train and dev.

    epochs: the best one on dev; of a floor, the number of its C. A refit that was
    killed resumes at its last epoch, or starts anew if its encoder carries states, as
    `train` does. Raises UserError as `train` does.
    """
    clock = Clock().start()
    dev = without_long_texts(prepared.splits["dev"], "dev, in the refit")
    examples = [*prepared.splits["train"], *dev]
    both = replace(prepared, splits={"train": examples})
    if tuned_part(prepared.frozen.encoders) is not None:
        # The first training has changed the encoder.
        words = all_words(prepared.splits)
        both = replace(both, frozen=load_frozen(prepared.spec, prepared.setup, words))
    console.print(
        f"{prepared.title}: refit on train and dev, {len(examples):,} examples, for "
        f"{epochs} epochs",
        highlight=False,
    )
    trained = build(both)
    if prepared.spec.head == FLOOR:
        _fit_floor(trained, examples, epochs)
    else:
        fill(trained, both, ["train"])
        _train(trained, both, epochs, work / FOLDER, clock)
    _, seconds = clock.read()
    of_record = {
        "epochs": epochs,
        "examples": len(examples),
        "cpu_seconds": seconds,
    }
    return Refitted(trained, of_record)


def _fit_floor(trained: Trained, examples: list[Any], times: int) -> None:
    """Fit a floor; the last C is the chosen one."""
    head: Any = trained.module.head
    for _ in head.fits(examples, times):
        pass


def _train(
    trained: Trained, both: Prepared, epochs: int, folder: Path, clock: Clock
) -> None:
    """Train a head by steps, or resume that; the clock gets what was spent before."""
    identity = {
        "epochs": epochs,
        "examples": len(both.splits["train"]),
        "code": both.code,
    }
    end = Upto(epochs, folder, identity, clock)
    shown = ShowProgress(f"{both.title} refit", epochs=epochs, scored=False)
    trained.trainer = make_trainer(
        both, [RandomState(), GpuMemory(), shown, end], scored=False
    )
    last = folder / "last.ckpt"
    done = _epochs_done(trained, last, end)
    if done >= epochs:
        state = read_checkpoint(last)["state_dict"]
        trained.module.load_state_dict(state)
        return
    with subnormals_as_zeros():
        trained.trainer.fit(
            trained.module,
            datamodule=trained.loaders,
            ckpt_path=last if done else None,
            weights_only=True,
        )


def _epochs_done(trained: Trained, last: Path, end: Upto) -> int:
    """The epochs of a checkpoint that can be resumed; 0 without one.

    0 also if an encoder carries states: its vectors depend on what it read before.
    """
    if is_stateful(trained) or not last.exists():
        return 0
    try:
        checkpoint = read_checkpoint(last, advice="")
        state = dict(checkpoint["callbacks"][end.state_key])
        seconds = state.pop("seconds")
    except (KeyError, UserError):
        return 0
    if state != end.identity:
        return 0
    end.clock.add(seconds)
    return int(checkpoint["epoch"]) + 1
