"""What of the layers is written: all of them, the top one, their average, or a fixed mix."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError


@dataclass(frozen=True)
class Mode:
    """`all`, `top`, `average` or `mix`; a mix has one number a layer, before the softmax, and γ at the end."""

    name: str
    numbers: tuple[float, ...] = ()

    @classmethod
    def mix(cls, text: str) -> "Mode":
        """From `w0,w1,w2,gamma`; raises UserError where one of them is no number."""
        try:
            numbers = tuple(float(cell) for cell in text.split(","))
        except ValueError:
            numbers = (math.nan,)
        if not all(map(math.isfinite, numbers)):
            raise UserError(f"--mix {text}: must be numbers parted by commas, one a layer and then gamma: 0,0,0,1")
        return cls("mix", numbers)

    def __str__(self) -> str:
        return " ".join([self.name, *([",".join(f"{number:.9g}" for number in self.numbers)] if self.numbers else [])])

    def check(self, layers: int) -> None:
        """Raises UserError where a mix does not have one number a layer and γ."""
        if self.name == "mix" and len(self.numbers) != layers + 1:
            raise UserError(
                f"--{self}: {len(self.numbers)} numbers, but these weights have {layers} layers: "
                f"give {layers} weights (before the softmax) and then gamma"
            )

    def values(self, layers: int, dim: int) -> int:
        """How many float32 are written for each token."""
        return layers * dim if self.name == "all" else dim

    def shape(self, layers: int, tokens: int, dim: int) -> tuple[int, ...]:
        """The shape of what is written for a sentence: (L, T, D) or (T, D)."""
        return (layers, tokens, dim) if self.name == "all" else (tokens, dim)

    def __call__(self, layers: Tensor) -> Tensor:
        """[L, T, D] -> what is written, in `shape`."""
        match self.name:
            case "all":
                return layers
            case "top":
                return layers[-1]
            case "average":
                return layers.mean(dim=0)
        *scalars, gamma = self.numbers
        return torch.tensordot(gamma * torch.softmax(torch.tensor(scalars), dim=0), layers, dims=1)
