"""A moving average of the weights, which is scored and kept; training itself uses the current weights."""

from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn


class Ema(Callback):
    """average = decay · average + (1 - decay) · weight after every step, starting at the initial weights.

    warming: the decay is at most (1 + steps) / (10 + steps), for runs that are too short for `decay` alone.

    Between the end of one epoch's training and the start of the next, the module holds the averages: they are scored,
    they are in every checkpoint's `state_dict`, and they remain when training ends. The weights are in this callback's
    state. (Lightning's WeightAveraging restores its last average whenever a split is scored, which would overwrite a
    loaded best checkpoint, and restores the weights at the end of an epoch, where the mixes are read.)
    """

    def __init__(self, *, decay: float, warming: bool):
        if not 0 <= decay < 1:
            raise ValueError(f"ema.decay={decay}: must be at least 0 and below 1")
        self.decay, self.warming = decay, warming
        self.steps = 0
        self.averages: list[Tensor] = []  # while the module holds the weights
        self.weights: list[Tensor] = []  # while the module holds the averages

    def on_train_epoch_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        parameters = _trained(module)
        self.averages = [parameter.detach().clone() for parameter in parameters]
        if self.weights:  # none yet at the very start
            _fill(parameters, self.weights)
            self.weights = []

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps)) if self.warming else self.decay
        get_ema_multi_avg_fn(decay)(self.averages, [p.detach() for p in _trained(module)], self.steps)

    def on_validation_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        if trainer.state.fn == TrainerFn.FITTING:
            parameters = _trained(module)
            self.weights = [parameter.detach().clone() for parameter in parameters]
            _fill(parameters, self.averages)
            self.averages = []

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "weights": self.weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps, self.weights = state["steps"], state["weights"]


def _trained(module: pl.LightningModule) -> list[torch.nn.Parameter]:
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def _fill(parameters: list[torch.nn.Parameter], values: list[Tensor]) -> None:
    with torch.no_grad():
        for parameter, value in zip(parameters, values, strict=True):
            parameter.copy_(value)
