"""Optimisers and learning-rate schedules by name: `task.training.optimizer` and `task.training.schedule` in a config.

They look like `{name: adam, lr: 0.001}` and `{name: linear}`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LRScheduler, ReduceLROnPlateau, StepLR

from elmo_bench.base.errors import UserError
from elmo_bench.training.adadelta import Adadelta


def adadelta(parameters: list[torch.nn.Parameter], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6) -> Optimizer:
    """On a GPU torch's own, for all parameters at once: one by one they would be thousands of small operations."""
    on_gpu = any(parameter.device.type == "cuda" for parameter in parameters)
    return (torch.optim.Adadelta if on_gpu else Adadelta)(parameters, lr=lr, rho=rho, eps=eps)


def _fused(kind: Callable[..., Optimizer], parameters: list[torch.nn.Parameter], **options: Any) -> Optimizer:
    """An optimiser that goes over its memory once a step, several times faster on a CPU."""
    optimiser = kind(parameters, **{"fused": True} | options)
    optimiser._step_supports_amp_scaling = False  # type: ignore[attr-defined]  # with it, Lightning refuses to clip
    return optimiser


OPTIMISERS: dict[str, Callable[..., Optimizer]] = {
    "adadelta": adadelta,
    "adagrad": torch.optim.Adagrad,
    "adam": partial(_fused, torch.optim.Adam),
    "adamw": partial(_fused, torch.optim.AdamW),
    "sgd": torch.optim.SGD,
}
LINEAR = "linear"  # falls to zero over all epochs; HeadTraining sets it before each step, without a scheduler
# `plateau` takes the dev score after each epoch; the others count their steps.
SCHEDULES = {
    "cosine": CosineAnnealingLR,
    "exponential": ExponentialLR,
    "plateau": partial(ReduceLROnPlateau, mode="max", threshold=0.0),  # a gain is any gain, as for patience
    "step": StepLR,
}


def build_schedule(options: Mapping[str, Any], optimiser: Optimizer) -> LRScheduler | None:
    """The scheduler `options["name"]`; other options but `every` are arguments. None for `linear`. Raises UserError.

    every: training steps between two steps of the schedule, or `epoch` for `plateau`. patience of `plateau`: how many
    epochs in a row may bring no gain; the next one that brings none reduces the rate (so 1: two epochs without gain).
    """
    name, every = options.get("name"), options.get("every")
    if name == LINEAR:
        if other := sorted(key for key, value in options.items() if key != "name" and value is not None):
            raise UserError(f"task.training.schedule.{other[0]}: linear has no options. Remove it.")
        return None
    fits = every == "epoch" if name == "plateau" else isinstance(every, int) and every >= 1
    if str(name) in SCHEDULES and not fits:
        raise UserError(f"task.training.schedule.every={every}: for plateau give epoch, else a whole number from 1")
    arguments = {key: value for key, value in options.items() if key != "every"}
    return construct("task.training.schedule", SCHEDULES, arguments, optimiser)


def construct(where: str, known: Mapping[str, Any], options: Mapping[str, Any], *given: Any) -> Any:
    """Call the constructor that `options["name"]` chooses with `given` and the other options.

    `where` is the option's name, for the UserError about an unknown name or an argument that does not fit.
    """
    if not isinstance(options, Mapping):
        raise UserError(f"{where}={options}: give a mapping with its name and its options.")
    arguments = dict(options)
    name = arguments.pop("name", None)
    if not isinstance(name, str) or name not in known:
        names = sorted([*known, LINEAR] if known is SCHEDULES else known)
        raise UserError(f"{where}.name={name}: unknown name. Choose one of: {', '.join(names)}.")
    try:
        return known[name](*given, **arguments)
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: {str(error).rstrip('.')}. Check its options for {name}.") from error
