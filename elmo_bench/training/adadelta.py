"""Adadelta that leaves the rows of a table alone while they have no gradient: one pass
of C over each parameter.

Without a compiler torch computes it; its float32 numbers are the same bit by bit on a
processor with fused products.
"""

from collections.abc import Mapping
from ctypes import CDLL, c_double, c_long, c_void_p
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from elmo_bench.nn.compiled import library

# SRL's step is 1.3 times as fast as with torch (benchmarks/README.md).
IN_C = Path(__file__).with_suffix(".c")
TABLE = 1024  # rows from which on a matrix counts as a table of words
# Of one parameter; `last` is the step of each row's last gradient.
State = dict[str, Any]


class Adadelta(Optimizer):
    """Adadelta (Zeiler 2012, algorithm 1) that leaves the rows of a table alone while
    they have no gradient.

    Without a gradient both averages of a row decay and its weights stay, so the decay
    waits for its next gradient: the result is the one of torch's Adadelta.
    """

    def __init__(
        self, parameters: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6
    ):
        if lr < 0 or eps < 0 or not 0 <= rho <= 1:
            raise ValueError("lr and eps are at least 0, rho is from 0 to 1")
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


class GpuAdadelta(torch.optim.Adadelta):
    """torch's Adadelta, which also resumes from a state of `Adadelta`.

    So a run that was killed on a CPU resumes on a GPU.
    """

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            for option, value in self.defaults.items():
                group.setdefault(option, value)
            for p in group["params"]:
                if "last" in self.state[p]:
                    _decay_all(self.state[p], group["rho"])


def _decay_all(state: State, rho: float) -> None:
    """Decay the rows that wait for a gradient, so that no row waits.

    The result is new tensors: the loaded state may share its memory with the caller's.
    """
    squares = state["square_avg"]
    steps = float(state["step"]) - state.pop("last")
    decay = _decay(rho, steps, squares.dtype)
    state["square_avg"] = squares * decay
    state["acc_delta"] = state["acc_delta"] * decay


def _decay(rho: float, steps: Tensor, dtype: torch.dtype) -> Tensor:
    """The factor [rows, 1] of the averages of rows without a gradient in `steps`."""
    return (rho ** steps.double()).to(dtype)[:, None]


def _update(p: Tensor, g: Tensor, state: State, options: Mapping[str, Any]) -> None:
    """One update of p by its gradient g."""
    table = p.dim() == 2 and len(p) >= TABLE
    if not state:
        state |= {
            "step": torch.zeros(()),
            "square_avg": torch.zeros_like(p),
            "acc_delta": torch.zeros_like(p),
        }
    # New, or of torch's Adadelta, whose rows all decay at each step.
    if table and "last" not in state:
        state["last"] = p.new_full((len(p),), float(state["step"]))
    state["step"] += 1
    in_c = library(IN_C, p)
    if in_c is not None and p.is_contiguous():
        _update_in_c(in_c, p, g, state, options)
    else:
        _update_in_torch(p, g, state, options)


def _update_in_c(
    in_c: CDLL, p: Tensor, g: Tensor, state: State, options: Mapping[str, Any]
) -> None:
    # The averages of a checkpoint may lie in memory in another order.
    for name in ("square_avg", "acc_delta"):
        state[name] = state[name].contiguous()
    arrays = [p, g.contiguous(), state["square_avg"], state["acc_delta"]]
    pointers = [c_void_p(array.data_ptr()) for array in arrays]
    rows = 1
    last = c_void_p()
    if "last" in state:
        rows = len(p)
        last = c_void_p(state["last"].data_ptr())
    sizes = [c_long(rows), c_long(p.numel() // rows)]
    numbers = [state["step"], options["lr"], options["rho"], options["eps"]]
    doubles = [c_double(float(number)) for number in numbers]
    in_c.update(*sizes, *pointers, last, *doubles)


def _update_in_torch(
    p: Tensor, g: Tensor, state: State, options: Mapping[str, Any]
) -> None:
    rho, eps = options["rho"], options["eps"]
    table = "last" in state
    rows: Any = g.any(dim=1).nonzero().squeeze(1) if table else ...
    g = g[rows]
    squares = state["square_avg"][rows]
    changes = state["acc_delta"][rows]
    if table:
        steps = state["step"] - 1 - state["last"][rows]
        decay = _decay(rho, steps, p.dtype)
        squares = squares * decay
        changes = changes * decay
        state["last"][rows] = float(state["step"])
    # As in C, each sum rounds once (`alpha`) and each root is exact (`double`).
    squares = (g * g).mul_(1 - rho).add_(squares, alpha=rho)
    change = _root(changes + eps).div_(_root(squares + eps)).mul_(g)
    state["square_avg"][rows] = squares
    state["acc_delta"][rows] = (change * change).mul_(1 - rho).add_(changes, alpha=rho)
    p[rows] = p[rows].add(change, alpha=-options["lr"])


def _root(x: Tensor) -> Tensor:
    return x.double().sqrt_().to(x.dtype)
