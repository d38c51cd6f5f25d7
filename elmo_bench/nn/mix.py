"""ScalarMix (Peters et al. 2018, equation 1): γ · Σ softmax(w)_j · h_j, one for each task and place."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.base.errors import UserError
from elmo_bench.nn.dropout import Dropout

KINDS = ("scalar", "mean", "last", "first", "layer", "fixed")
NORMS = ("none", "token", "batch")


class ScalarMix(nn.Module):
    """Layers [B, L, T, D] to one vector for each token [B, T, D]; γ is trained in every kind, w only in `scalar`.

    kind: `scalar` learns w, which start at 0 (the mean); `mean`, `last`, `first`; `layer` takes one by number, from 0;
    `fixed` takes `scalars`, before the softmax.
    gamma: False keeps γ at 1.
    penalty: λ of λ · Σ w_j², added to the task's loss of one item (Peters et al. 2018, section 3.3; appendix A).
    layer_norm: `none`; `token` (each vector separately); `batch` (one mean and variance for each layer over all tokens
    and dimensions of the batch, as in bilm-tf and AllenNLP, so that a vector depends on its neighbours).
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
        for option, value, known in (("kind", kind, KINDS), ("layer_norm", layer_norm, NORMS)):
            if value not in known:
                raise UserError(f"mix.{option}={value}: unknown. Choose one of: {', '.join(known)}.")
        finite = [each for each in scalars or () if isinstance(each, (int, float)) and math.isfinite(each)]
        if not len(finite) == len(scalars or ()) == (layers if kind == "fixed" else 0):
            raise UserError(f"mix.scalars={scalars}: mix=fixed needs {layers} numbers, and no other mix has any.")
        if (kind == "layer") != (layer is not None) or (layer is not None and layer not in range(layers)):
            raise UserError(
                f"mix.layer={layer}: mix=layer needs a whole number from 0 to {layers - 1}, and no other mix has one."
            )
        single = {"last": layers - 1, "first": 0, "layer": layer}.get(kind)
        start = [0.0 if single in (None, number) else -math.inf for number in range(layers)]
        values = torch.tensor(finite or start, dtype=torch.float32)
        self.gamma = nn.Parameter(torch.ones(())) if gamma else nn.Buffer(torch.ones(()))
        self.scalars = nn.Parameter(values) if kind == "scalar" else nn.Buffer(values)
        self.trained = kind == "scalar"
        self.penalty, self.layer_norm, self.dropout = penalty, layer_norm, Dropout(dropout)
        self._norms: Tensor | float = 0.0  # L: sums over the tokens that were read in evaluation since the last report
        self._tokens: Tensor | float = 0.0

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
        if not self.training:
            self._measure(layers.detach(), mask)
        weights = (self.gamma * torch.softmax(self.scalars, dim=0)).to(layers.dtype)  # L
        # One product for each sentence: two to three times faster than einsum, whose backward pass copies the layers.
        mixed = weights.expand(len(layers), 1, -1) @ layers.flatten(2)  # B1(TD)
        return self.dropout(mixed.view(mask.shape + layers.shape[3:]))  # BTD

    def regularisation(self) -> Tensor:
        """λ · Σ w_j², a scalar to add to the loss of one item; 0 if w is not learned."""
        return self.penalty * self.scalars.square().sum() if self.trained else self.gamma.new_zeros(())

    def report(self) -> dict[str, list[float] | float]:
        """{"weights": softmax(w), lowest layer first, "gamma": γ, "norms": the mean norm of each layer's vectors}.

        The norms are of the tokens that were read in evaluation since the last report, after `layer_norm`; without any
        they are left out.
        """
        report = {"weights": torch.softmax(self.scalars.detach(), dim=0).tolist(), "gamma": self.gamma.item()}
        if isinstance(self._norms, Tensor):
            report["norms"] = (self._norms / self._tokens).tolist()
        self._norms = self._tokens = 0.0
        return report

    def _measure(self, layers: Tensor, mask: Tensor) -> None:
        precise = torch.promote_types(layers.dtype, torch.float32)
        norms = torch.linalg.vector_norm(layers, dim=3, dtype=precise)  # BLT
        self._norms = self._norms + (norms * mask[:, None]).sum(dim=(0, 2), dtype=torch.float64)
        self._tokens = self._tokens + mask.sum()
