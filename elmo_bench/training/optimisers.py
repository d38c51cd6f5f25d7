"""Optimisers and learning-rate schedules by name: `task.training.optimizer` and `task.training.schedule` in a config.

They look like `{name: adam, lr: 0.001}` and `{name: linear}`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LRScheduler, ReduceLROnPlateau, StepLR

from elmo_bench.base.errors import UserError

TABLE = 1024  # rows from which on a matrix counts as a table of words


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012, algorithm 1) that leaves the rows of a table alone while they have no gradient.

    Without a gradient both averages of a row decay and its weights stay, so the decay waits for its next gradient: the
    result is the one of torch's Adadelta.
    """

    def __init__(self, parameters: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6):
        super().__init__(parameters, {"lr": lr, "rho": rho, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update; `closure`, if given, computes the loss and the gradients."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    _update(p, p.grad, self.state[p], group)
        return loss


def _update(p: Tensor, g: Tensor, state: dict[str, Any], options: Mapping[str, Any]) -> None:
    """One update of p by its gradient g; `last` in the state is the step of each row's last gradient."""
    rho, eps = options["rho"], options["eps"]
    table = p.dim() == 2 and len(p) >= TABLE
    if not state:
        state |= {"step": torch.zeros(()), "square_avg": torch.zeros_like(p), "acc_delta": torch.zeros_like(p)}
    if table and "last" not in state:  # new, or of torch's Adadelta, whose rows all decay at each step
        state["last"] = p.new_full((len(p),), float(state["step"]))
    state["step"] += 1
    rows: Any = g.any(dim=1).nonzero().squeeze(1) if table else ...
    squares, changes, g = state["square_avg"][rows], state["acc_delta"][rows], g[rows]
    if table:
        waited = (rho ** (state["step"] - 1 - state["last"][rows]).double()).to(p.dtype)[:, None]
        squares, changes, state["last"][rows] = squares * waited, changes * waited, float(state["step"])
    # Each sum rounds once (`alpha`) and each root is exact (`double`), as in the C code that made the first records.
    squares = (g * g).mul_(1 - rho).add_(squares, alpha=rho)
    change = _root(changes + eps).div_(_root(squares + eps)).mul_(g)
    state["square_avg"][rows] = squares
    state["acc_delta"][rows] = (change * change).mul_(1 - rho).add_(changes, alpha=rho)
    p[rows] = p[rows].add(change, alpha=-options["lr"])


def _root(x: Tensor) -> Tensor:
    return x.double().sqrt_().to(x.dtype)


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
