"""Optimisers and learning-rate schedules by name: `task.training.optimizer` and `task.training.schedule` in a config.

They look like `{name: adam, lr: 0.001}` and `{name: plateau, every: epoch}`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LRScheduler, ReduceLROnPlateau, StepLR

from elmo_bench.base.errors import UserError

TABLE = 1024  # rows from which on a matrix counts as a table of words


class Adadelta(torch.optim.Adadelta):
    """Adadelta that leaves the rows of a table alone while they have no gradient. It equals torch's.

    Without a gradient both averages of a row decay and its weights stay, so the decay can wait for its next gradient.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update; `closure`, if given, computes the loss and the gradients."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        found: list[tuple[torch.nn.Parameter, Tensor]] = []
        for group in self.param_groups:
            plain = not (group["weight_decay"] or group["maximize"])
            for p in group["params"]:
                if plain and p.grad is not None and p.dim() == 2 and len(p) >= TABLE:
                    self._update_rows(p, p.grad, self.state[p], group)
                    found.append((p, p.grad))
                    p.grad = None
        super().step()
        for p, gradient in found:
            p.grad = gradient
        return loss

    @staticmethod
    def _update_rows(p: Tensor, gradient: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        if not state:
            state["step"] = torch.zeros(())
            state["square_avg"], state["acc_delta"] = torch.zeros_like(p), torch.zeros_like(p)
            state["last"] = torch.zeros(len(p), device=p.device)  # the step of each row's last gradient
        state["step"] += 1
        rows = gradient.abs().amax(dim=1).nonzero().squeeze(1)  # R
        waited = rho ** (state["step"] - 1 - state["last"][rows]).to(p.dtype)[:, None]
        g = gradient[rows]
        average = (state["square_avg"][rows] * waited).mul_(rho).addcmul_(g, g, value=1 - rho)
        before = state["acc_delta"][rows] * waited
        delta = (before + eps).sqrt_().div_((average + eps).sqrt_()).mul_(g)
        state["square_avg"][rows], state["last"][rows] = average, float(state["step"])
        state["acc_delta"][rows] = before.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.index_add_(0, rows, delta, alpha=-group["lr"])


def _fused(kind: Callable[..., Optimizer], parameters: list[torch.nn.Parameter], **options: Any) -> Optimizer:
    """An optimiser that goes over its memory once a step, several times faster on a CPU."""
    optimiser = kind(parameters, **{"fused": True} | options)
    optimiser._step_supports_amp_scaling = False  # type: ignore[attr-defined]  # with it, Lightning refuses to clip
    return optimiser


OPTIMISERS: dict[str, Callable[..., Optimizer]] = {
    "adadelta": Adadelta,
    "adagrad": torch.optim.Adagrad,
    "adam": partial(_fused, torch.optim.Adam),
    "adamw": partial(_fused, torch.optim.AdamW),
    "sgd": torch.optim.SGD,
}
# `plateau` takes the dev score after each epoch; the others count their steps.
SCHEDULES = {
    "cosine": CosineAnnealingLR,
    "exponential": ExponentialLR,
    "plateau": partial(ReduceLROnPlateau, mode="max", threshold=0.0),  # a gain is any gain, as for patience
    "step": StepLR,
}


def build_optimiser(options: Mapping[str, Any], parameters: Iterable[torch.nn.Parameter]) -> Optimizer:
    """The optimiser `options["name"]`; the other options are its arguments. Raises UserError."""
    return construct("task.training.optimizer", OPTIMISERS, options, list(parameters))


def build_schedule(options: Mapping[str, Any], optimiser: Optimizer) -> LRScheduler:
    """The schedule `options["name"]`; other options but `every` are its arguments. Raises UserError.

    every: training steps between two steps of the schedule, or `epoch` for `plateau`. patience of `plateau`: how many
    epochs in a row may bring no gain; the next one that brings none reduces the rate (so 1: two epochs without gain).
    """
    name, every = options.get("name"), options.get("every")
    if name == "plateau":
        if every != "epoch":
            raise UserError(f"task.training.schedule.every={every}: plateau takes dev scores. Use every=epoch.")
    elif name in SCHEDULES and (not isinstance(every, int) or every < 1):
        raise UserError(f"task.training.schedule.every={every}: not a number of steps. Give a whole number from 1.")
    arguments = {key: value for key, value in options.items() if key != "every"}
    return construct("task.training.schedule", SCHEDULES, arguments, optimiser)


def construct(where: str, known: Mapping[str, Any], options: Mapping[str, Any], *given: Any) -> Any:
    """Call the constructor that `options["name"]` chooses with `given` and the other options.

    `where` is the option's name, for the UserError about an unknown name or an argument that does not fit.
    """
    arguments = dict(options)
    name = arguments.pop("name", None)
    if name not in known:
        raise UserError(f"{where}.name={name}: unknown name. Choose one of: {', '.join(known)}.")
    try:
        return known[name](*given, **arguments)
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: {str(error).rstrip('.')}. Check its options for {name}.") from error
