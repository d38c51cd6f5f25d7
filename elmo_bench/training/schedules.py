"""Learning-rate schedules by name: `task.training.schedule` in a config, such as `{name: plateau, every: epoch}`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LRScheduler, ReduceLROnPlateau, StepLR

from elmo_bench.base.errors import UserError
from elmo_bench.training.optimisers import construct

# `plateau` takes the dev score after each epoch; the others count their steps.
SCHEDULES = {
    "cosine": CosineAnnealingLR,
    "exponential": ExponentialLR,
    "plateau": partial(ReduceLROnPlateau, mode="max"),
    "step": StepLR,
}


def build_schedule(options: Mapping[str, Any], optimiser: Optimizer) -> LRScheduler:
    """The schedule `options["name"]`; other options but `every` are its arguments. Raises UserError.

    every: training steps between two steps of the schedule, or `epoch` for `plateau`.
    """
    name, every = options.get("name"), options.get("every")
    if name == "plateau":
        if every != "epoch":
            raise UserError(f"task.training.schedule.every={every}: plateau takes dev scores. Use every=epoch.")
    elif not isinstance(every, int) or every < 1:
        raise UserError(f"task.training.schedule.every={every}: not a number of steps. Give a whole number from 1.")
    arguments = {key: value for key, value in options.items() if key != "every"}
    return construct("task.training.schedule", SCHEDULES, arguments, optimiser)
