"""What is written of the layers: all of them, the top one, their average, or a fixed mix."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError


@dataclass(frozen=True)
class Mode:
    """`all`, `top`, `average` or `mix`; a mix has one number for each layer, before the softmax, and then γ."""

    name: str
    numbers: tuple[float, ...] = ()

    @classmethod
    def mix(cls, text: str) -> "Mode":
        """From `w0,w1,w2,gamma`. Raises UserError if one is not a number."""
        try:
            numbers = tuple(float(cell) for cell in text.split(","))
        except ValueError:
            numbers = (math.nan,)
        if not all(map(math.isfinite, numbers)):
            raise UserError(f"--mix {text}: not a list of numbers. Give one for each layer, then gamma: 0,0,0,1.")
        return cls("mix", numbers)

    def __str__(self) -> str:
        return f"mix {','.join(f'{number:.9g}' for number in self.numbers)}" if self.numbers else self.name

    def check(self, layers: int) -> None:
        """Raises UserError if a mix does not have one number for each layer and γ."""
        if self.name == "mix" and len(self.numbers) != layers + 1:
            raise UserError(
                f"--{self}: {len(self.numbers)} numbers for {layers} layers. "
                f"Give {layers} weights (before the softmax), then gamma."
            )

    def shape(self, layers: int, tokens: int, dim: int) -> tuple[int, ...]:
        """The shape of a sentence's output: (L, T, D) or (T, D)."""
        return (layers, tokens, dim) if self.name == "all" else (tokens, dim)

    def __call__(self, layers: Tensor) -> Tensor:
        """[L, T, D] -> what is written, of shape `shape`."""
        match self.name:
            case "all":
                return layers
            case "top":
                return layers[-1]
            case "average":
                return layers.mean(dim=0)
        *scalars, gamma = self.numbers
        weights = gamma * torch.softmax(torch.tensor(scalars, device=layers.device), dim=0)
        return torch.tensordot(weights, layers, dims=1)
