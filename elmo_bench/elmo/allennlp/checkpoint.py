"""A biLM in a `state_dict()` of AllenNLP's Elmo, renamed and rearranged for `model.BiLM`.

Source: `Elmo.state_dict()` of AllenNLP 2.10.1, checked against tests/golden/elmo_trained.npz. In AllenNLP, id 0 has a
character vector, the gates come in the order i, f, j, o with the 1 of the forget gate in the bias, and a highway layer
has one matrix: the transform, then the carry with the opposite sign.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.options import BiLMOptions

OLD = "_elmo_lstm."  # the biLM in AllenNLP's Elmo


def renamed(old: Mapping[str, Tensor], options: BiLMOptions) -> dict[str, Tensor]:
    """Tensors by their names after `_elmo_lstm.` -> the `state_dict()` of a `BiLM` with these options.

    Raises UserError if one is missing.
    """
    try:
        return _characters(old, options) | _lstms(old, options)
    except KeyError as error:
        raise UserError(
            f"state_dict: {OLD}{error.args[0]} is missing. Give a state_dict() of AllenNLP's Elmo with these options."
        ) from None


def _characters(old: Mapping[str, Tensor], options: BiLMOptions) -> dict[str, Tensor]:
    new = {"embedding": old["_token_embedder._char_embedding_weights"][1:]}
    for kind in ("weight", "bias"):
        new[f"projection.{kind}"] = old[f"_token_embedder._projection.{kind}"]
        for index in range(len(options.filters)):
            new[f"convolutions.{index}.{kind}"] = old[f"_token_embedder.char_conv_{index}.{kind}"]
        for index in range(options.highways):
            transform, carry = old[f"_token_embedder._highways._layers.{index}.{kind}"].chunk(2)
            new[f"highways.{index}.transform.{kind}"], new[f"highways.{index}.carry.{kind}"] = transform, -carry
    return {f"characters.{name}": tensor for name, tensor in new.items()}


def _lstms(old: Mapping[str, Tensor], options: BiLMOptions) -> dict[str, Tensor]:
    new = {}
    for layer in range(options.layers):
        weights, biases, projections = [], [], []
        for direction in ("forward", "backward"):
            cell = f"_elmo_lstm.{direction}_layer_{layer}"
            both = [old[f"{cell}.{part}_linearity.weight"] for part in ("input", "state")]
            i, f, j, o = torch.cat(both, dim=1).chunk(4)  # each H(2P)
            weights.append(torch.cat([i, j, f, o]).T)
            i, f, j, o = old[f"{cell}.state_linearity.bias"].chunk(4)
            biases.append(torch.cat([i, j, f - 1, o]))
            projections.append(old[f"{cell}.state_projection.weight"].T)
        for name, parts in (("weight", weights), ("bias", biases), ("projection", projections)):
            new[f"lstms.{layer}.{name}"] = torch.stack(parts)
    return new
