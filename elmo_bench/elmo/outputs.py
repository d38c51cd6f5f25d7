"""Layers under the names of the outputs of the TF-Hub module `google/elmo` (facts sheet 2.10)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.encoders.mix import ScalarMix


def tokens_of(sentences: Sequence[str | Sequence[str]]) -> list[list[str]]:
    """Sentences as lists of tokens; strings are split on spaces, as the module's `default` signature does it."""
    if isinstance(sentences, str):
        raise UserError(f"a list of sentences is needed, not a string; for one: [{sentences[:20]!r}]")
    return [
        [token for token in sentence.split(" ") if token] if isinstance(sentence, str) else list(sentence)
        for sentence in sentences
    ]


def named_outputs(layers: Tensor, lengths: Sequence[int], mix: ScalarMix | None) -> dict[str, Tensor]:
    """Layers [B, L, T, 2P] without markers, whatever behind a sentence's length -> the outputs, zeros there.

    word_emb [B, T, P]; lstm_outputs1, … [B, T, 2P]; elmo [B, T, 2P], the layers' mean without a `mix`; default [B, 2P],
    the mean of elmo over the tokens; mask, bool [B, T]; lengths, int64 [B].
    """
    sizes = torch.tensor(lengths, dtype=torch.int64, device=layers.device)
    mask = torch.arange(layers.shape[2], device=layers.device) < sizes[:, None]  # BT
    layers = torch.where(mask[:, None, :, None], layers, 0)
    elmo = layers.mean(dim=1) if mix is None else torch.where(mask[..., None], mix(layers, mask), 0)  # BT(2P)
    first, *others = layers.unbind(1)
    return {
        "word_emb": first[..., : first.shape[2] // 2],
        **{f"lstm_outputs{number}": layer for number, layer in enumerate(others, start=1)},
        "elmo": elmo,
        "default": elmo.sum(dim=1) / sizes.clamp(min=1)[:, None],
        "mask": mask,
        "lengths": sizes,
    }
