"""Muon (Jordan et al. 2024) for stacks of matrices: momentum with equalised singular values."""

from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the odd polynomial, as published


class Muon(torch.optim.Optimizer):
    """For matrices and stacks of them [N, rows, columns]; a group with `gates` holds LSTM weights 2(2P)(4H).

    The step of a matrix has a root mean square of about 0.2 times the rate (Liu et al. 2025), so that rates and weight
    decay of AdamW fit.
    """

    def __init__(self, params: Iterable, lr: float, *, momentum: float = 0.95, weight_decay: float = 0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "gates": False})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step, with Nesterov momentum."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter)
                state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                update = parameter.grad.lerp(state["momentum"], group["momentum"])
                stack = _stack(update, group["gates"])
                rows, columns = stack.shape[1:]
                change = orthogonal(stack) * (0.2 * max(rows, columns) ** 0.5)
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.sub_(_unstack(change, parameter, group["gates"]).to(parameter.dtype), alpha=group["lr"])


def _stack(x: Tensor, gates: bool) -> Tensor:
    """A stack of matrices; of an LSTM weight 2(2P)(4H), a matrix for each direction, input and gate: 16PH."""
    if gates:
        return x.unflatten(2, (4, -1)).unflatten(1, (2, -1)).permute(0, 1, 3, 2, 4).flatten(0, 2)
    return x[None] if x.dim() == 2 else x


def _unstack(x: Tensor, like: Tensor, gates: bool) -> Tensor:
    """The inverse of `_stack`."""
    if gates:
        return x.unflatten(0, (2, 2, 4)).permute(0, 1, 3, 2, 4).reshape(like.shape)
    return x.view_as(like)


def orthogonal(x: Tensor, steps: int = 5) -> Tensor:
    """Matrices [N, rows, columns] with all singular values near 1 (Newton-Schulz)."""
    turned = x.shape[1] > x.shape[2]
    x = (x.mT if turned else x).to(torch.bfloat16 if x.is_cuda else x.dtype)
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(steps):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if turned else x
