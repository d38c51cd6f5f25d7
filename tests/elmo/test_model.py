"""Every kernel against the reference biLM; the recorded figures of AllenNLP are in test_elmo.py."""

import copy

import pytest
import torch
from torch.nn import functional

from elmo_bench.elmo.batches import layers_of, zero_states
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.kernels.graphs import GraphBiLM, pieces
from elmo_bench.elmo.kernels.packed import PackedBiLM
from elmo_bench.elmo.kernels.steps import LayerWeights, lstm_loop
from tests.elmo.bilms import IDS, RELU, SENTENCES, TANH, random_bilm

INDEX = torch.nn.utils.rnn.pad_sequence([torch.tensor(sentence) + 1 for sentence in SENTENCES], batch_first=True)


@pytest.mark.parametrize("network", [BatchedBiLM, GraphBiLM, lambda bilm: PackedBiLM(bilm, "float32")])
@torch.no_grad()
def test_kernels_are_the_reference(network):
    bilm = random_bilm(TANH).eval()
    network = network(bilm)
    states = [(0.1 * torch.randn_like(h), 0.1 * torch.randn_like(c)) for h, c in zero_states(TANH, 4, torch.empty(0))]
    vectors = functional.pad(network.characters(IDS), (0, 0, 1, 0))
    torch.testing.assert_close(vectors[1:], bilm.characters(IDS), atol=2e-6, rtol=0)
    layers, last = layers_of(network, vectors, INDEX, states)
    clipped = 0
    for row, sentence in enumerate(SENTENCES):
        wanted, wanted_last = bilm(IDS[sentence], [(h[:, row], c[:, row]) for h, c in states])
        torch.testing.assert_close(layers[row, :, : len(sentence)], wanted, atol=2e-6, rtol=0)
        assert not layers[row, :, len(sentence) :].any()
        torch.testing.assert_close([(h[:, row], c[:, row]) for h, c in last], [*wanted_last], atol=2e-6, rtol=0)
        clipped += int((wanted_last[0][1].abs() == TANH.cell_clip).sum())
        clipped += int((wanted[1].abs() == TANH.projection_clip).any())
    assert clipped > 4  # both clips are reached


@torch.no_grad()
def test_pieces_of_a_call_are_the_whole():
    """Rows end within pieces, between them and where fewer rows are read; a second call reuses the buffers."""
    bilm = random_bilm(TANH).eval()
    networks = BatchedBiLM(bilm), GraphBiLM(bilm)
    vectors = functional.pad(networks[0].characters(IDS), (0, 0, 1, 0))
    draw = torch.Generator().manual_seed(0)
    for count, longest in ((150, 70), (3, 5), (140, 9)):
        lengths = torch.randint(0, longest + 1, (count,), generator=draw)
        index = torch.randint(1, len(vectors), (count, longest), generator=draw)
        index[torch.arange(longest) >= lengths[:, None]] = 0
        states = [(0.1 * torch.randn_like(h), c) for h, c in zero_states(TANH, count, vectors)]
        (wanted, last), (layers, ours) = (layers_of(each, vectors, index, states) for each in networks)
        torch.testing.assert_close(layers, wanted, atol=2e-6, rtol=0)
        torch.testing.assert_close(ours, last, atol=2e-6, rtol=0)
    assert [*pieces([150] * 8 + [40] * 5)] == [(0, 8, 256), (8, 4, 64), (12, 1, 64)]


@torch.no_grad()
def test_the_loop_of_pretraining_is_that_of_inference():
    """With the input's share of the gates computed before, or read with h; old numbers in the gates do not matter."""
    lstm = random_bilm(TANH).lstms[0]
    steps, rows, features, cell = 3, 4, TANH.projection_dim, TANH.lstm_dim
    x = torch.randn(2, steps, rows, features)
    clips = lstm.cell_clip, lstm.projection_clip
    both = torch.cat([x, torch.zeros_like(x)], dim=3)
    both = torch.cat([both, torch.zeros(2, 1, rows, 2 * features)], dim=1).unbind(1)
    training = {
        "read": both[:-1],
        "gates": [torch.full((2, rows, 4 * cell), torch.nan) for _ in range(steps)],
        "cells": [torch.zeros(2, rows, cell) for _ in range(steps + 1)],
        "raw": [torch.empty(2, rows, cell) for _ in range(steps)],
        "outputs": [step[..., features:] for step in both[1:]],
    }
    lstm_loop(LayerWeights(lstm.weight, lstm.gate_bias(), lstm.projection, *clips), **training)
    weight_in, weight_h = lstm.weight.split(features, dim=1)
    outputs = [torch.empty(2, rows, features) for _ in range(steps)]
    c = torch.zeros(2, rows, cell)
    lstm_loop(
        LayerWeights(weight_h, lstm.gate_bias(), lstm.projection, *clips),
        read=[torch.zeros(2, rows, features), *outputs[:-1]],
        gates=[of_step @ weight_in for of_step in x.unbind(1)],
        cells=[c] * (steps + 1),
        raw=[torch.empty(2, rows, cell)] * steps,
        outputs=outputs,
        ends=torch.full((rows,), steps, dtype=torch.int32),
    )
    torch.testing.assert_close(outputs, training["outputs"], atol=2e-6, rtol=0)
    torch.testing.assert_close(c, training["cells"][-1], atol=2e-6, rtol=0)


def test_gradients_of_the_batched_kernel_are_those_of_the_reference():
    bilm = random_bilm(RELU)
    shape = (len(SENTENCES), 1 + RELU.layers, INDEX.shape[1], 2 * RELU.projection_dim)
    pull = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    network = BatchedBiLM(bilm)
    vectors = functional.pad(network.characters(IDS), (0, 0, 1, 0))
    layers, _ = layers_of(network, vectors, INDEX, zero_states(RELU, len(INDEX), vectors))
    (layers * pull).sum().backward()

    exact = copy.deepcopy(bilm).double()
    exact.zero_grad()
    for row, sentence in enumerate(SENTENCES):
        wanted, _ = exact(IDS[sentence])
        torch.testing.assert_close(layers[row, :, : len(sentence)].double(), wanted, atol=2e-6, rtol=0)
        (wanted * pull[row, :, : len(sentence)]).sum().backward()
    for (name, parameter), (_, reference) in zip(bilm.named_parameters(), exact.named_parameters(), strict=True):
        assert reference.grad.abs().max() > 1e-3, name
        difference = (parameter.grad.double() - reference.grad).abs().max() / reference.grad.abs().max()
        assert difference < 1e-5, (name, float(difference))
