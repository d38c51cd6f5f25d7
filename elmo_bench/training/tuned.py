"""The optimiser of a run that tunes its encoder: the head's, and AdamW for the encoder.

Both take their step at once, and their groups of parameters are one list, so that
clipping, schedules and checkpoints see one optimiser.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from elmo_bench.training.optimisers import OPTIMISERS

DECAY = 0.01  # of the encoder's weights (Devlin et al. 2019, appendix A.2)
# Of so many epochs one trains the head alone, from the first on (docs/protocol.md).
HEAD_FIRST = 10


def head_alone(epochs: int) -> int:
    """How many epochs train the head alone: a tenth, in whole epochs."""
    return epochs // HEAD_FIRST


def encoder_optimiser(numbers: nn.Module, rate: float) -> Optimizer:
    """AdamW for what is trained of an encoder, without decay of norms and biases."""
    weights: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in numbers.named_parameters():
        is_weight = parameter.ndim > 1 and not name.endswith("bias")
        group = weights if is_weight else others
        group.append(parameter)
    groups: list[Any] = [
        {"params": weights, "weight_decay": DECAY},
        {"params": others, "weight_decay": 0.0},
    ]
    filled = [group for group in groups if group["params"]]
    return OPTIMISERS["adamw"](filled, lr=rate)


class Joint(Optimizer):
    """Several optimisers that take each step together."""

    def __init__(self, *parts: Optimizer):
        self.parts = parts
        # The same dictionaries: a rate that is set here is the part's.
        super().__init__(_groups(parts), {})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Compute the loss with the closure, and take the step of each part."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self.param_groups = _groups(self.parts)


def _groups(parts: tuple[Optimizer, ...]) -> list[dict[str, Any]]:
    groups = []
    for part in parts:
        groups += part.param_groups
    return groups
