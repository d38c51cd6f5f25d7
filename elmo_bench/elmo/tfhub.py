"""The outputs of the TF-Hub module `google/elmo`, by their names there."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def split(sentence: str | Sequence[str]) -> Sequence[str]:
    """A string split on spaces (the signature `default`); tokens as they are."""
    if isinstance(sentence, str):
        return [token for token in sentence.split(" ") if token]
    return sentence


def named_outputs(
    layers: Tensor,
    lengths: Sequence[int],
    mix: Callable[[Tensor, Tensor], Tensor] | None,
) -> dict[str, Tensor]:
    """Layers [B, L, T, 2P], valid up to the lengths [B], as `ElmoEncoder.outputs`."""
    device = layers.device
    sizes = torch.tensor(lengths, dtype=torch.int64, device=device)
    steps = torch.arange(layers.shape[2], device=device)
    mask = steps < sizes[:, None]  # BT
    layers = torch.where(mask[:, None, :, None], layers.float(), 0)
    if mix is None:
        elmo = layers.mean(dim=1)  # BT(2P)
    else:
        elmo = torch.where(mask[..., None], mix(layers, mask), 0)  # BT(2P)
    first, *others = layers.unbind(1)
    outputs = {"word_emb": first[..., : first.shape[2] // 2]}
    for number, layer in enumerate(others, start=1):
        outputs[f"lstm_outputs{number}"] = layer
    outputs["elmo"] = elmo
    outputs["default"] = elmo.sum(dim=1) / sizes.clamp(min=1)[:, None]
    outputs["mask"] = mask
    outputs["lengths"] = sizes
    return outputs
