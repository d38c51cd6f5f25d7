"""The random generators of the process: Python's, numpy's and torch's."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback

State = dict[str, Any]  # of all generators, as a checkpoint can hold it


def current_state() -> State:
    """The state of the random generators; of GPUs, if any is in use."""
    version, internal, gauss = random.getstate()
    kind, keys, *rest = np.random.get_state()
    state = {
        "torch": torch.get_rng_state(),
        "python": [version, list(internal), gauss],
        "numpy": [kind, np.asarray(keys).tolist(), *rest],
    }
    if torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def restore(state: State) -> None:
    """Set the random generators to a state of `current_state`."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    torch.set_rng_state(state["torch"])
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    # The process that was killed may have seen more GPUs; the first one trains.
    of_gpus = state.get("cuda", [])[: torch.cuda.device_count()]
    torch.cuda.set_rng_state_all(of_gpus)


@contextmanager
def generators_kept() -> Iterator[None]:
    """Leave the random generators after the block as they were before it.

    A program that calls this package draws its own numbers.
    """
    state = current_state()
    try:
        yield
    finally:
        restore(state)


class RandomState(Callback):
    """Keeps the state of the random generators in the checkpoint.

    So a resumed run draws the same numbers. The state is taken at the end of each
    epoch's training and restored at the first batch of the next epoch, in every run:
    code that draws numbers in between (scoring, building loaders) then cannot make a
    resumed run differ.
    """

    def __init__(self) -> None:
        self.state: State = {}

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        self.state = current_state()

    def on_train_batch_start(
        self, trainer: pl.Trainer, module: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.state and batch_idx == 0:
            restore(self.state)

    def state_dict(self) -> State:
        return self.state

    def load_state_dict(self, state: State) -> None:
        self.state = state
