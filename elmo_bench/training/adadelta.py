"""Adadelta that leaves the rows of a table alone while they have no gradient."""

from ctypes import c_double, c_long, c_void_p
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmo_bench.nn.compiled import library

SOURCE = Path(__file__).with_suffix(".c")
TABLE = 1024  # rows from which on a matrix counts as a table of words


class Adadelta(torch.optim.Adadelta):
    """Equals torch's Adadelta, in one pass over memory where there is a C compiler.

    Without a gradient both averages of a row decay and its weights stay, so the decay can wait for its next gradient.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update; `closure`, if given, computes the loss and the gradients."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        done: list[tuple[torch.nn.Parameter, Tensor]] = []
        for group in self.param_groups:
            plain = not (group["weight_decay"] or group["maximize"])
            for p in group["params"]:
                if plain and p.grad is not None and _update(p, p.grad, self.state[p], group):
                    done.append((p, p.grad))
                    p.grad = None
        super().step()  # the other parameters
        for p, gradient in done:
            p.grad = gradient
        return loss


def _update(p: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> bool:
    """Update p if it is a table or if there is a compiler; returns whether it was updated."""
    table = p.dim() == 2 and len(p) >= TABLE
    compiled = library(SOURCE, p) if p.is_contiguous() else None
    if not table and compiled is None:
        return False
    if not state:
        state["step"] = torch.zeros(())
        state["square_avg"], state["acc_delta"] = torch.zeros_like(p), torch.zeros_like(p)
    if table and "last" not in state:
        state["last"] = p.new_zeros(len(p))  # the step of each row's last gradient
    state["step"] += 1
    if compiled is None:
        _update_rows(p, gradient, state, group)
        return True
    arrays = p, gradient.contiguous(), state["square_avg"], state["acc_delta"], state.get("last")
    pointers = [c_void_p(None if array is None else array.data_ptr()) for array in arrays]
    numbers = [c_double(float(number)) for number in (state["step"], *(group[name] for name in ("lr", "rho", "eps")))]
    rows = len(p) if table else 1
    compiled.update(c_long(rows), c_long(p.numel() // rows), *pointers, *numbers)
    return True


def _update_rows(p: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    rho, eps = group["rho"], group["eps"]
    rows = gradient.abs().amax(dim=1).nonzero().squeeze(1)  # R
    waited = rho ** (state["step"] - 1 - state["last"][rows]).to(p.dtype)[:, None]
    g = gradient[rows]
    average = (state["square_avg"][rows] * waited).mul_(rho).addcmul_(g, g, value=1 - rho)
    before = state["acc_delta"][rows] * waited
    delta = (before + eps).sqrt_().div_((average + eps).sqrt_()).mul_(g)
    state["square_avg"][rows], state["last"][rows] = average, float(state["step"])
    state["acc_delta"][rows] = before.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    p.index_add_(0, rows, delta, alpha=-group["lr"])
