"""Checks of an encoder when it is loaded."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from elmo_bench.base.errors import UserError

TEXTS = (
    ("a", "dog"),
    ("the", "dog", "saw", "a", "cat", "and", "a", "bird", "."),
    ("Anna", "lives", "here", "."),
)


def check_encoder(encoder: Any, *, name: str, slack: float = 1e-4) -> None:
    """Try the protocol `Encoder` on a few texts of different lengths.

    Raises UserError if an attribute is missing or wrong, and unless each text has
    finite vectors [L, T, D] that are the same in every call, within `slack`. `name` of
    the encoder begins the error.
    """
    for attribute, is_good, what in _ATTRIBUTES:
        value = getattr(encoder, attribute, None)
        if not is_good(value):
            raise UserError(
                f"{name}: the encoder's {attribute} is {value!r:.60}. Give {what}."
            )
    expect = getattr(encoder, "expect", None)
    if expect:
        expect({word for text in TEXTS for word in text})
    shape = (encoder.layers, encoder.dim)
    lengths = [len(text) for text in TEXTS]
    together = check_layers(encoder.encode([*TEXTS]), lengths, shape, name=name)
    for text, layers in zip(TEXTS, together, strict=True):
        encoded = encoder.encode([text])
        [alone] = check_layers(encoded, [len(text)], shape, name=name)
        if not is_close(alone, layers, slack=slack):
            raise UserError(
                f"{name}: encode gives a sentence other vectors in another call. "
                "Switch off dropout, mask padding, or encode one sentence at a time."
            )


def check_layers(
    layers: Any, lengths: Sequence[int], shape: tuple[int, int], *, name: str
) -> list[Tensor]:
    """The layers that an encoder gave for sentences of so many tokens.

    Raises UserError unless they are float32 [L, T, D], finite and frozen, for each one.

    shape: L and D of the encoder. name: of the encoder, begins the error.
    """
    is_list = isinstance(layers, list | tuple)
    if not is_list or len(layers) != len(lengths):
        gave = f"{len(layers)} tensors" if is_list else f"a {type(layers).__name__}"
        raise UserError(
            f"{name}: encode gives {gave} for {len(lengths)} sentences. "
            "Return a list, a tensor for each."
        )
    depth, dim = shape
    for length, tensor in zip(lengths, layers, strict=True):
        _check_tensor(tensor, [depth, length, dim], name=name)
    # A GPU is asked once.
    if layers and not torch.stack([tensor.isfinite().all() for tensor in layers]).all():
        raise UserError(
            f"{name}: encode gives numbers that are not finite. Look at its weights."
        )
    return list(layers)


def _check_tensor(tensor: Any, wanted: list[int], *, name: str) -> None:
    gave = f"a {type(tensor).__name__}"
    is_right = False
    if isinstance(tensor, Tensor):
        gave = f"{tensor.dtype} {[*tensor.shape]}"
        is_right = [*tensor.shape] == wanted and tensor.dtype == torch.float32
    if not is_right:
        raise UserError(
            f"{name}: encode gives {gave} for a sentence of {wanted[1]} tokens. "
            f"Return a float32 tensor {wanted}: layers, tokens, dimensions."
        )
    if tensor.requires_grad:
        raise UserError(
            f"{name}: encode gives vectors that need gradients. "
            "Write `with torch.no_grad():` in it."
        )


def is_close(layers: Tensor, others: Tensor, *, slack: float) -> bool:
    """Whether vectors are equal within `slack`.

    Within `slack` of the largest number where that is above 1.
    """
    largest = max(1.0, float(layers.detach().abs().max()))
    return bool((layers - others).abs().max() <= slack * largest)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_positive(value: object) -> bool:
    return _is_count(value) and value != 0


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_here(value: object) -> bool:
    if not isinstance(value, torch.device):
        return False
    return value.type != "cuda" or torch.cuda.is_available()


# Attributes of an `Encoder`, what checks them, and what they should be.
_ATTRIBUTES = (
    ("checksum", _is_text, "a text that identifies its vectors"),
    ("layers", _is_positive, "the number of layers, from 1"),
    ("dim", _is_positive, "the length of a vector, from 1"),
    ("parameters", _is_count, "the number of its frozen parameters, from 0"),
    ("device", _is_here, "a torch.device that is here, such as torch.device('cpu')"),
    ("encode", callable, "a method: sentences to a list of tensors"),
)
