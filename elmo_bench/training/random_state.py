"""The callback that keeps the random generators of a run."""

import random
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback


class RandomState(Callback):
    """Keeps the state of the random generators in the checkpoint: Python's, numpy's
    and torch's.

    So a resumed run draws the same numbers. The state is taken at the end of each
    epoch's training and restored at the first batch of the next epoch, in every run:
    code that draws numbers in between (scoring, building loaders) then cannot make a
    resumed run differ.
    """

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        version, internal, gauss = random.getstate()
        kind, keys, *rest = np.random.get_state()
        self.state = {
            "torch": torch.get_rng_state(),
            "python": [version, list(internal), gauss],
            "numpy": [kind, np.asarray(keys).tolist(), *rest],
        }
        if torch.cuda.is_available():
            self.state["cuda"] = torch.cuda.get_rng_state_all()

    def on_train_batch_start(
        self, trainer: pl.Trainer, module: Any, batch: Any, batch_idx: int
    ) -> None:
        if not self.state or batch_idx != 0:
            return
        version, internal, gauss = self.state["python"]
        random.setstate((version, tuple(internal), gauss))
        torch.set_rng_state(self.state["torch"])
        kind, keys, *rest = self.state["numpy"]
        np.random.set_state((kind, np.array(keys, np.uint32), *rest))
        # The process that was killed may have seen more GPUs; the first one trains.
        states = self.state.get("cuda", [])[: torch.cuda.device_count()]
        torch.cuda.set_rng_state_all(states)

    def state_dict(self) -> dict[str, Any]:
        return self.state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.state = state
