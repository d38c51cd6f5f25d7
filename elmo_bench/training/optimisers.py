"""Optimisers by the names of the configs (`task.training.optimizer`)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import optim

from elmo_bench.base.errors import UserError

OPTIMISERS: dict[str, Callable[..., optim.Optimizer]] = {
    "adadelta": optim.Adadelta,
    "adagrad": optim.Adagrad,
    "adam": optim.Adam,
    "adamw": optim.AdamW,
    "sgd": optim.SGD,
}


def optimiser(options: Mapping[str, Any]) -> Callable[[Any], optim.Optimizer]:
    """What makes the optimiser of `{"name": …, <numbers>}` for some parameters. Raises UserError."""
    name, numbers = options["name"], {key: value for key, value in options.items() if key != "name"}
    if name not in OPTIMISERS:
        raise UserError(f"task.training.optimizer.name={name}: choose one of: {', '.join(OPTIMISERS)}")
    return partial(OPTIMISERS[name], **numbers)
