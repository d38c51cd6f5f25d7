"""Checks of an encoder when it is loaded."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError

TEXTS = (("a", "dog"), ("the", "dog", "saw", "a", "cat", "and", "a", "bird", "."), ("Anna", "lives", "here", "."))


def check_encoder(encoder: Any, *, name: str, slack: float = 1e-4) -> None:
    """Try the protocol `Encoder` (encoders/__init__.py) on a few texts of different lengths.

    Raises UserError if an attribute is missing or wrong, and unless each text has finite vectors [L, T, D] that are the
    same in every call, within `slack`. `name` of the encoder begins the error.
    """
    for attribute, good, what in (
        ("checksum", lambda value: isinstance(value, str) and value != "", "a text that identifies its vectors"),
        ("layers", lambda value: _is_whole(value, 1), "the number of layers, from 1"),
        ("dim", lambda value: _is_whole(value, 1), "the length of a vector, from 1"),
        ("parameters", lambda value: _is_whole(value, 0), "the number of its frozen parameters, from 0"),
        ("device", _is_here, "a torch.device that is here, such as torch.device('cpu')"),
        ("encode", callable, "a method: sentences to a list of tensors"),
    ):
        if not good(value := getattr(encoder, attribute, None)):
            raise UserError(f"{name}: the encoder's {attribute} is {value!r:.60}. Give {what}.")
    together = check_layers(encoder, TEXTS, encoder.encode([*TEXTS]), name=name)
    for text, layers in zip(TEXTS, together, strict=True):
        [alone] = check_layers(encoder, [text], encoder.encode([text]), name=name)
        if not is_close(alone, layers, slack=slack):
            raise UserError(
                f"{name}: encode gives a sentence other vectors in another call. Switch off dropout, mask padding, or "
                "encode one sentence at a time."
            )


def check_layers(encoder: Any, sentences: Sequence[Any], layers: Any, *, name: str) -> list[Tensor]:
    """The layers of sentences. Raises UserError unless they are float32 [L, T, D], finite and frozen, for each one."""
    if not isinstance(layers, list | tuple) or len(layers) != len(sentences):
        gave = f"{len(layers)} tensors" if isinstance(layers, list | tuple) else f"a {type(layers).__name__}"
        raise UserError(
            f"{name}: encode gives {gave} for {len(sentences)} sentences. Return a list, a tensor for each."
        )
    for sentence, each in zip(sentences, layers, strict=True):
        wanted = [encoder.layers, len(sentence), encoder.dim]
        if not isinstance(each, Tensor) or [*each.shape] != wanted or each.dtype != torch.float32:
            gave = f"{each.dtype} {[*each.shape]}" if isinstance(each, Tensor) else f"a {type(each).__name__}"
            raise UserError(
                f"{name}: encode gives {gave} for a sentence of {len(sentence)} tokens. Return a float32 tensor "
                f"{wanted}: layers, tokens, dimensions."
            )
        if each.requires_grad:
            raise UserError(f"{name}: encode gives vectors that need gradients. Write `with torch.no_grad():` in it.")
    if layers and not torch.stack([each.isfinite().all() for each in layers]).all():  # a GPU is asked once
        raise UserError(f"{name}: encode gives numbers that are not finite. Look at its weights.")
    return list(layers)


def is_close(layers: Tensor, others: Tensor, *, slack: float) -> bool:
    """Whether vectors are equal within `slack`, or within `slack` of the largest number where that is above 1."""
    return bool((layers - others).abs().max() <= slack * max(1.0, float(layers.detach().abs().max())))


def _is_here(value: object) -> bool:
    return isinstance(value, torch.device) and (value.type != "cuda" or torch.cuda.is_available())


def _is_whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least
