"""ScalarMix (Peters et al. 2018, equation 1): γ · Σ softmax(w)_j · h_j, one per task and place."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.errors import UserError

KINDS = ("scalar", "mean", "last", "first", "layer", "fixed")
NORMS = ("none", "token", "batch")


class ScalarMix(nn.Module):
    """Layers [B, L, T, D] to one vector a token [B, T, D]; γ is trained in every kind, w only in `scalar`.

    kind: `scalar` learns w, from 0 on (so from the mean); `mean`, `last`, `first`; `layer` takes one by number, from
    0; `fixed` takes `scalars`, before the softmax.
    gamma: False leaves γ at 1, untrained.
    penalty: λ of λ · Σ w_j², added to the task's loss (facts sheet 2.9).
    layer_norm: `none`; `token` (each vector by itself); `batch` (one mean and variance a layer over all tokens and
    dimensions of the batch, as the original has it, so that a vector depends on its neighbours).
    """

    def __init__(
        self,
        layers: int,
        *,
        kind: str = "scalar",
        penalty: float = 0.0,
        layer_norm: str = "none",
        dropout: float = 0.0,
        scalars: Sequence[float] | None = None,
        layer: int | None = None,
        gamma: bool = True,
    ):
        super().__init__()
        if kind not in KINDS:
            raise UserError(f"mix.kind={kind}: choose one of: {', '.join(KINDS)}")
        if layer_norm not in NORMS:
            raise UserError(f"mix.layer_norm={layer_norm}: choose one of: {', '.join(NORMS)}")
        if (kind == "fixed") != (scalars is not None) or (scalars is not None and len(scalars) != layers):
            raise UserError(f"mix.scalars: mix=fixed, and no other, takes {layers} numbers, one a layer")
        if (kind == "layer") != (layer is not None) or (layer is not None and layer not in range(layers)):
            raise UserError(f"mix.layer={layer}: mix=layer, and no other, takes a number from 0 to {layers - 1}")
        alone = {"last": layers - 1, "first": 0, "layer": layer}.get(kind)
        start = [0.0 if alone in (None, number) else -math.inf for number in range(layers)]
        values = torch.tensor(start if scalars is None else list(scalars), dtype=torch.float32)
        self.gamma = nn.Parameter(torch.ones(())) if gamma else nn.Buffer(torch.ones(()))
        self.scalars = nn.Parameter(values) if kind == "scalar" else nn.Buffer(values)
        self.trained = kind == "scalar"
        self.penalty, self.layer_norm, self.dropout = penalty, layer_norm, nn.Dropout(dropout)

    def forward(self, layers: Tensor, mask: Tensor) -> Tensor:
        """layers [B, L, T, D], mask [B, T] -> [B, T, D]."""
        if self.layer_norm == "token":
            layers = functional.layer_norm(layers, layers.shape[-1:], eps=1e-12)
        elif self.layer_norm == "batch":
            inside = mask[:, None, :, None].to(layers.dtype)  # B1T1
            count = inside.sum() * layers.shape[-1]
            mean = (layers * inside).sum(dim=(0, 2, 3), keepdim=True) / count  # 1L11
            variance = (((layers - mean) * inside) ** 2).sum(dim=(0, 2, 3), keepdim=True) / count
            layers = (layers - mean) / torch.sqrt(variance + 1e-12)
        weights = (self.gamma * torch.softmax(self.scalars, dim=0)).to(layers.dtype)  # L
        # A product a sentence: two to three times faster than einsum, whose backward copies the layers.
        mixed = weights.expand(len(layers), 1, -1) @ layers.flatten(2)  # B1(TD)
        return self.dropout(mixed.view(mask.shape + layers.shape[3:]))  # BTD

    def regularisation(self) -> Tensor:
        """λ · Σ w_j², a scalar to add to the loss; 0 where w is not learned."""
        return self.penalty * self.scalars.square().sum() if self.trained else self.gamma.new_zeros(())

    def report(self) -> dict[str, list[float] | float]:
        """{"weights": softmax(w), lowest layer first, "gamma": γ}."""
        return {"weights": torch.softmax(self.scalars.detach(), dim=0).tolist(), "gamma": self.gamma.item()}
