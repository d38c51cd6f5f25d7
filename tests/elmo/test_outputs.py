"""Outputs under the names of the TF-Hub module."""

import numpy as np
import pytest
import torch

from elmo_bench import ElmoEncoder, ScalarMix
from tests.elmo.recorded import LAYERS, SENTENCES, TOLERANCE
from tests.runs import GOLDEN

NAMES = ["word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "default", "mask", "lengths"]


@pytest.fixture(scope="module")
def encoder() -> ElmoEncoder:
    return ElmoEncoder(weights=str(GOLDEN))


def test_outputs_are_the_recorded_layers_and_zeros_behind(encoder):
    outputs = encoder.outputs(SENTENCES)
    assert list(outputs) == NAMES
    longest = max(map(len, SENTENCES))
    assert outputs["word_emb"].shape == (12, longest, 16)
    for row, wanted in enumerate(LAYERS):
        length = wanted.shape[1]
        assert outputs["lengths"][row] == length
        assert outputs["mask"][row].tolist() == [True] * length + [False] * (longest - length)
        each = (wanted[0, :, :16], wanted[1], wanted[2], wanted.mean(axis=0))
        for name, values in zip(NAMES, each, strict=False):
            np.testing.assert_allclose(outputs[name][row, :length], values, atol=TOLERANCE, rtol=0)
            assert not outputs[name][row, length:].any()
        np.testing.assert_allclose(outputs["default"][row], wanted.mean(axis=(0, 1)), atol=TOLERANCE, rtol=0)


def test_strings_are_split_on_spaces(encoder):
    tokens = [["the", "cat\tsat"], ["dogs", "."], []]
    for sentences in (["the cat\tsat", " dogs  . ", ""], ["the cat\tsat", ["dogs", "."], ()]):
        found, wanted = encoder.outputs(sentences), encoder.outputs(tokens)
        assert all(torch.equal(found[name], wanted[name]) for name in NAMES)
    assert not found["default"][2].any()


@pytest.mark.parametrize("layer_norm", ["none", "token", "batch"])
def test_a_mix_makes_elmo_and_is_reached_by_gradients(encoder, layer_norm):
    mix = ScalarMix(3, layer_norm=layer_norm)
    with torch.no_grad():
        mix.scalars.copy_(torch.tensor([1.0, 2.0, 0.5]))
        mix.gamma.fill_(0.7)
    outputs = encoder.outputs(["a b c", "d"], mix=mix)
    plain = encoder.outputs(["a b c", "d"])
    assert torch.equal(outputs["lstm_outputs2"], plain["lstm_outputs2"])
    assert not outputs["elmo"][1, 1:].any()
    if layer_norm == "none":
        layers = torch.stack([plain["word_emb"].repeat(1, 1, 2), plain["lstm_outputs1"], plain["lstm_outputs2"]])
        wanted = 0.7 * torch.einsum("l,lbtd->btd", torch.tensor([1.0, 2.0, 0.5]).softmax(dim=0), layers)
        torch.testing.assert_close(outputs["elmo"], wanted, atol=1e-5, rtol=0)
    outputs["default"].square().sum().backward()
    assert mix.gamma.grad != 0
    assert mix.scalars.grad.all()
