"""ScalarMix (Peters et al. 2018, equation 1): γ · Σ softmax(w)_j · h_j.

Every task has one for each place.
"""

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
    """Layers [B, L, T, D] to one vector for each token [B, T, D].

    γ is trained in every kind, w only in `scalar`.

    kind: `scalar` learns w, which start at 0 (the mean); `mean`, `last`, `first`;
    `layer` takes one by number, from 0; `fixed` takes `scalars`, before the softmax.
    gamma: False keeps γ at 1.
    penalty: λ of λ · Σ w_j², added to the task's loss of one item (Peters et al. 2018,
    section 3.3; appendix A).
    layer_norm: `none`; `token` (each vector separately); `batch` (one mean and variance
    for each layer over all tokens and dimensions of the batch, as in bilm-tf and
    AllenNLP, so that a vector depends on its neighbours).

    Raises UserError for an unknown kind or layer_norm, and for scalars or a layer that
    do not fit the kind.
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
        _check_name("kind", kind, KINDS)
        _check_name("layer_norm", layer_norm, NORMS)
        _check_scalars(scalars, kind=kind, layers=layers)
        _check_layer(layer, kind=kind, layers=layers)
        if scalars is None or kind != "fixed":
            scalars = _first_scalars(kind, layers, layer)
        values = torch.tensor([*scalars], dtype=torch.float32)
        one = torch.ones(())
        self.trained = kind == "scalar"
        self.gamma = nn.Parameter(one) if gamma else nn.Buffer(one)
        self.scalars = nn.Parameter(values) if self.trained else nn.Buffer(values)
        self.penalty = penalty
        self.layer_norm = layer_norm
        self.dropout = Dropout(dropout)
        # Sums over the tokens that were read in evaluation since the last report.
        self._norms: Tensor | float = 0.0  # L
        self._tokens: Tensor | float = 0.0

    def forward(self, layers: Tensor, mask: Tensor) -> Tensor:
        """layers [B, L, T, D], mask [B, T] -> [B, T, D]."""
        if self.layer_norm == "token":
            layers = functional.layer_norm(layers, layers.shape[-1:], eps=1e-12)
        elif self.layer_norm == "batch":
            layers = _normalise_batch(layers, mask)
        if not self.training:
            self._measure(layers.detach(), mask)
        weights = self.gamma * torch.softmax(self.scalars, dim=0)  # L
        weights = weights.to(layers.dtype)
        # One product for each sentence: two to three times faster than einsum, whose
        # backward pass copies the layers.
        mixed = weights.expand(len(layers), 1, -1) @ layers.flatten(2)  # B1(TD)
        mixed = mixed.view(mask.shape + layers.shape[3:])  # BTD
        return self.dropout(mixed)

    def regularisation(self) -> Tensor:
        """λ · Σ w_j², a scalar to add to the loss of one item; 0 if w is fixed."""
        if self.trained:
            return self.penalty * self.scalars.square().sum()
        return self.gamma.new_zeros(())

    def report(self) -> dict[str, list[float] | float]:
        """{"weights": softmax(w), "gamma": γ, "norms": the mean norm of a layer}.

        Weights and norms begin with the lowest layer. The norms are of the vectors of
        the tokens that were read in evaluation since the last report, after
        `layer_norm`; 0 if there were none, as in a head that never reads the mix.
        """
        weights = torch.softmax(self.scalars.detach(), dim=0)
        norms = [0.0] * len(weights)
        if isinstance(self._norms, Tensor):
            norms = (self._norms / self._tokens).tolist()
        report = {
            "weights": weights.tolist(),
            "gamma": self.gamma.item(),
            "norms": norms,
        }
        self._norms = 0.0
        self._tokens = 0.0
        return report

    def _measure(self, layers: Tensor, mask: Tensor) -> None:
        precise = torch.promote_types(layers.dtype, torch.float32)
        norms = torch.linalg.vector_norm(layers, dim=3, dtype=precise)  # BLT
        norms = norms * mask[:, None]
        self._norms = self._norms + norms.sum(dim=(0, 2), dtype=torch.float64)
        self._tokens = self._tokens + mask.sum()


def _normalise_batch(layers: Tensor, mask: Tensor) -> Tensor:
    """Layers [B, L, T, D] with mean 0 and variance 1, each over the whole batch."""
    inside = mask[:, None, :, None].to(layers.dtype)  # B1T1
    count = inside.sum() * layers.shape[-1]
    batch = (0, 2, 3)
    mean = (layers * inside).sum(dim=batch, keepdim=True) / count  # 1L11
    squares = ((layers - mean) * inside) ** 2
    variance = squares.sum(dim=batch, keepdim=True) / count  # 1L11
    return (layers - mean) / torch.sqrt(variance + 1e-12)


def _first_scalars(kind: str, layers: int, layer: int | None) -> list[float]:
    """w [L] at first: equal, or -∞ but for the one layer that a kind takes."""
    single = {"last": layers - 1, "first": 0, "layer": layer}
    if kind not in single:
        return [0.0] * layers
    chosen = single[kind]
    return [0.0 if number == chosen else -math.inf for number in range(layers)]


def _check_name(option: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        choices = ", ".join(names)
        raise UserError(f"mix.{option}={name}: unknown. Choose one of: {choices}.")


def _check_scalars(scalars: Sequence[float] | None, *, kind: str, layers: int) -> None:
    numbers = scalars or ()
    wanted = layers if kind == "fixed" else 0
    if len(numbers) == wanted and all(map(_is_finite, numbers)):
        return
    raise UserError(
        f"mix.scalars={scalars}: mix=fixed needs {layers} numbers, and no other mix "
        "has any."
    )


def _is_finite(number: object) -> bool:
    return isinstance(number, int | float) and math.isfinite(number)


def _check_layer(layer: int | None, *, kind: str, layers: int) -> None:
    if layer is None:
        fits = kind != "layer"
    else:
        fits = kind == "layer" and layer in range(layers)
    if not fits:
        raise UserError(
            f"mix.layer={layer}: mix=layer needs a whole number from 0 to "
            f"{layers - 1}, and no other mix has one."
        )
