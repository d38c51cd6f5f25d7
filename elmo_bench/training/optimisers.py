"""Optimisers and learning-rate schedules by name.

In a config they are `task.training.optimizer` and `task.training.schedule`. They look
like `{name: adam, lr: 0.001}` and `{name: linear}`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    LRScheduler,
    ReduceLROnPlateau,
    StepLR,
)

from elmo_bench.base.errors import UserError
from elmo_bench.training.adadelta import Adadelta, GpuAdadelta


def adadelta(
    parameters: list[torch.nn.Parameter],
    lr: float = 1.0,
    rho: float = 0.9,
    eps: float = 1e-6,
) -> Optimizer:
    """Adadelta; on a GPU torch's, which updates all parameters at once.

    One by one they would be thousands of small operations.
    """
    on_gpu = any(parameter.device.type == "cuda" for parameter in parameters)
    kind: Callable[..., Optimizer] = GpuAdadelta if on_gpu else Adadelta
    return kind(parameters, lr=lr, rho=rho, eps=eps)


def _fused(
    kind: Callable[..., Optimizer], parameters: list[torch.nn.Parameter], **options: Any
) -> Optimizer:
    """An optimiser that goes over its memory once a step, much faster on a CPU."""
    optimiser = kind(parameters, **{"fused": True} | options)
    # With it, Lightning refuses to clip.
    optimiser._step_supports_amp_scaling = False  # type: ignore[attr-defined]
    return optimiser


OPTIMISERS: dict[str, Callable[..., Optimizer]] = {
    "adadelta": adadelta,
    "adagrad": torch.optim.Adagrad,
    "adam": partial(_fused, torch.optim.Adam),
    "adamw": partial(_fused, torch.optim.AdamW),
    "sgd": torch.optim.SGD,
}
# Falls to zero over all epochs; HeadTraining sets it before each step, without a
# scheduler.
LINEAR = "linear"
# `plateau` takes the dev score after each epoch; the others count their steps.
SCHEDULES = {
    "cosine": CosineAnnealingLR,
    "exponential": ExponentialLR,
    # A gain is any gain, as for patience.
    "plateau": partial(ReduceLROnPlateau, mode="max", threshold=0.0),
    "step": StepLR,
}

# Arguments of schedules.
COUNTS = ("step_size", "T_max")
NUMBERS = ("gamma", "factor", "patience", "cooldown", "eta_min", "min_lr", "eps")
SET_HERE = ("last_epoch", "mode", "threshold_mode")


def build_schedule(
    options: Mapping[str, Any], optimiser: Optimizer
) -> LRScheduler | None:
    """The scheduler `options["name"]`; None for `linear`. Raises UserError.

    Other options but `every` are its arguments.

    every: training steps between two steps of the schedule, or `epoch` for `plateau`.
    patience of `plateau`: how many epochs in a row may bring no gain; the next one that
    brings none reduces the rate (so 1: two epochs without gain).
    """
    name, every = options.get("name"), options.get("every")
    if name == LINEAR:
        for key, value in sorted(options.items()):
            if key != "name" and value is not None:
                raise UserError(
                    f"task.training.schedule.{key}: linear has no options. Remove it."
                )
        return None
    is_count = type(every) is int and every >= 1
    fits = every == "epoch" if name == "plateau" else is_count
    if str(name) in SCHEDULES and not fits:
        raise UserError(
            f"task.training.schedule.every={every}: for plateau give epoch, "
            "else a whole number from 1"
        )
    arguments = {key: value for key, value in options.items() if key != "every"}
    if str(name) in SCHEDULES:
        _check_numbers(arguments)
    return construct("task.training.schedule", SCHEDULES, arguments, optimiser)


def _check_numbers(arguments: Mapping[str, Any]) -> None:
    """Raise UserError for an argument of a schedule that fails after hours.

    Also for one that a run sets.
    """
    for key, value in arguments.items():
        option = f"task.training.schedule.{key}={value}"
        if key in SET_HERE:
            raise UserError(f"{option}: not an option of a run. Remove it.")
        if key in COUNTS and (type(value) is not int or value < 1):
            raise UserError(f"{option}: give a whole number from 1.")
        if key in NUMBERS and type(value) not in (int, float):
            raise UserError(f"{option}: give a number.")


def construct(
    where: str,
    constructors: Mapping[str, Any],
    options: Mapping[str, Any],
    *positional: Any,
) -> Any:
    """Call the constructor that `options["name"]` chooses.

    It gets the `positional` arguments and the other options.

    `where` is the option's name, for the UserError about an unknown name or an argument
    that does not fit.
    """
    if not isinstance(options, Mapping):
        raise UserError(
            f"{where}={options}: give a mapping with its name and its options."
        )
    arguments = dict(options)
    name = arguments.pop("name", None)
    if not isinstance(name, str) or name not in constructors:
        names = set(constructors)
        if constructors is SCHEDULES:
            names.add(LINEAR)
        raise UserError(
            f"{where}.name={name}: unknown name. "
            f"Choose one of: {', '.join(sorted(names))}."
        )
    try:
        return constructors[name](*positional, **arguments)
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        raise UserError(
            f"{where}: {str(error).rstrip('.')}. Check its options for {name}."
        ) from error
