"""The encoder kind `random`: ELMo before its first training step.

It is the control for what training gives.

The layers of such a network are short: in elmo-mini's shape their mean norms are 0.38,
0.17 and 0.09 times elmo-mini's. So each layer is multiplied by a constant, the same for
every seed and text, which makes it as long as elmo-mini's.
"""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.json import digest
from elmo_bench.elmo.encoder import ElmoEncoder
from elmo_bench.elmo.options import BiLMOptions
from elmo_bench.elmo.pretrained import locate_options
from elmo_bench.elmo.weights import untrained
from elmo_bench.encoders import Encoder


class UntrainedEncoder(ElmoEncoder):
    """A biLM with initial values, each of whose layers is multiplied by its scale."""

    identity: str  # of shape and scales: the same for every seed
    inputs: list[Path]
    scales: Tensor  # L11, on the CPU: an encoder may be pickled

    def batch(
        self, sentences: Sequence[Sequence[str]], *, markers: bool = False
    ) -> tuple[Tensor, list[int]]:
        layers, lengths = super().batch(sentences, markers=markers)
        return layers * self.scales.to(layers.device), lengths


def load(
    *,
    scales: Sequence[float],
    weights: str = "mini",
    seed: int = 0,
    precision: str = "float32",
    stateful: bool = False,
    device: str = "cpu",
) -> Encoder:
    """An ELMo encoder in the shape of these weights.

    Only their options are read. Its numbers are the ones that pretraining starts from
    with this seed. See `ElmoEncoder` for the other options. Raises UserError.
    scales: one constant for each layer, lowest first.
    """
    options = locate_options(weights)
    shape = BiLMOptions.from_file(options)
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise UserError(
            f"seed={seed!r:.60}: random weights are drawn with a whole number from 0, "
            "below 2^63"
        )
    factors = _factors(scales, 1 + shape.layers, weights)
    bilm, numbers = untrained(shape, seed=seed)
    identity = f"untrained {digest([shape.to_json(), factors])}"
    encoder = UntrainedEncoder.of(
        bilm,
        f"{identity} {numbers}",
        precision=precision,
        stateful=stateful,
        device=device,
    )
    encoder.identity = identity
    encoder.inputs = [options]
    encoder.scales = torch.tensor(factors, dtype=torch.float32)[:, None, None]
    return encoder


def _factors(scales: Sequence[float], layers: int, weights: str) -> list[float]:
    """The scales of so many layers. Raises UserError for anything else."""
    factors = list(scales) if isinstance(scales, Sequence) else []
    if len(factors) != layers or not all(map(_is_factor, factors)):
        raise UserError(
            f"encoder.contextual.scales={scales}: give {layers} numbers above 0, one "
            f"for each layer of {weights}"
        )
    return list(map(float, factors))


def _is_factor(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < inf
