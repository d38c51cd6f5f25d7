"""The encoder kind `random`: ELMo before its first training step, the control for what training gives.

The layers of such a network are short: in elmo-mini's shape their mean norms are 0.38, 0.17 and 0.09 times elmo-mini's.
So each layer is multiplied by a constant, the same for every seed and text, which makes it as long as elmo-mini's.
"""

from collections.abc import Sequence
from math import inf
from pathlib import Path

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
    scales: Tensor  # L11

    def batch(self, sentences: Sequence[Sequence[str]], *, markers: bool = False) -> tuple[Tensor, list[int]]:
        layers, lengths = super().batch(sentences, markers=markers)
        return layers * self.scales, lengths


def load(
    *,
    scales: Sequence[float],
    weights: str = "mini",
    seed: int = 0,
    precision: str = "float32",
    stateful: bool = False,
    device: str = "cpu",
) -> Encoder:
    """An ELMo encoder in the shape of these weights, of which only the options are read; see `ElmoEncoder` for others.

    Its numbers are the ones that pretraining starts from with this seed. Raises UserError.
    scales: one constant for each layer, lowest first.
    """
    shape = BiLMOptions.from_file(file := locate_options(weights))
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise UserError(f"seed={seed!r:.60}: random weights are drawn with a whole number from 0, below 2^63")
    wanted, factors = 1 + shape.layers, list(scales) if isinstance(scales, Sequence) else []
    if len(factors) != wanted or not all(type(factor) in (int, float) and 0 < factor < inf for factor in factors):
        raise UserError(
            f"encoder.contextual.scales={scales}: give {wanted} numbers above 0, one for each layer of {weights}"
        )
    bilm, numbers = untrained(shape, seed=seed)
    identity = f"untrained {digest([shape.to_json(), list(map(float, factors))])}"
    encoder = UntrainedEncoder.of(bilm, f"{identity} {numbers}", precision=precision, stateful=stateful, device=device)
    encoder.identity, encoder.inputs = identity, [file]
    encoder.scales = torch.tensor(factors, dtype=torch.float32, device=encoder.device)[:, None, None]
    return encoder
