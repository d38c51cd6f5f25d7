"""The loop with gradients, against autograd through the reference cell, one sentence after the other."""

from contextlib import nullcontext

import pytest
import torch

from elmo_bench.elmo.kernels.gradients import lstm_layer
from tests.elmo.bilms import RELU, random_bilm

LENGTHS = [5, 5, 3, 1, 0]  # of sentences, the longest first
SIZES = [4, 3, 3, 2, 2]  # how many sentences have a word at each step
CELL, WIDTH = RELU.lstm_dim, RELU.projection_dim


@pytest.fixture
def lstm():
    """With weights so large that some numbers reach the clips."""
    return random_bilm(RELU).lstms[0]


@pytest.fixture
def x():
    """[2, N, I], step by step."""
    return torch.randn(2, sum(SIZES), WIDTH, generator=torch.Generator().manual_seed(1)).requires_grad_()


def first_state():
    numbers = torch.Generator().manual_seed(2)
    h = torch.randn(2, len(LENGTHS), WIDTH, generator=numbers)
    return h / 9, torch.randn(2, len(LENGTHS), CELL, generator=numbers) / 9


def sentence(packed, row):
    """The words of one sentence of [2, N, ...]."""
    return torch.stack([step[:, row] for step in packed.split(SIZES, dim=1)[: LENGTHS[row]]], dim=1)


def loss_of(outputs):
    """Every output has a gradient of its own."""
    return (outputs * torch.arange(outputs.numel()).view_as(outputs).cos()).sum()


def reference(lstm, x, state):
    outputs = torch.zeros(2, sum(SIZES), WIDTH)
    h, c = (part.clone() for part in state)
    for row, length in enumerate(LENGTHS):
        for side in (0, 1):
            if not length:
                continue
            y, last_h, last_c = lstm(sentence(x, row)[side], state[0][side, row], state[1][side, row], direction=side)
            starts = [sum(SIZES[:step]) for step in range(length)]
            outputs[side, [start + row for start in starts]] = y
            h[side, row], c[side, row] = last_h.detach(), last_c.detach()
    return outputs, (h, c)


def gradients(lstm, x, outputs, **options):
    return torch.autograd.grad(loss_of(outputs), [x, *lstm.parameters()], **options)


def test_outputs_states_and_gradients_are_the_reference_cells(lstm, x):
    expected, expected_state = reference(lstm, x, first_state())
    outputs, state = lstm_layer(lstm, x, first_state(), SIZES)
    torch.testing.assert_close(outputs, expected)
    torch.testing.assert_close(state, expected_state)
    assert not any(part.requires_grad for part in state)
    assert (outputs.abs() == lstm.projection_clip).any()
    assert (state[1].abs() == lstm.cell_clip).any()
    ours, autograds = (gradients(lstm, x, of) for of in (outputs, expected))
    torch.testing.assert_close(ours, autograds)


def test_a_second_backward_pass_has_the_gradients_of_the_first(lstm, x):
    outputs, _ = lstm_layer(lstm, x, first_state(), SIZES)
    first = gradients(lstm, x, outputs, retain_graph=True)
    assert all(map(torch.equal, gradients(lstm, x, outputs), first))


def test_two_calls_before_the_backward_pass_keep_apart(lstm, x):
    alone = gradients(lstm, x, lstm_layer(lstm, x, first_state(), SIZES)[0])
    outputs, _ = lstm_layer(lstm, x, first_state(), SIZES)
    lstm_layer(lstm, x + 1, first_state(), SIZES)
    assert all(map(torch.equal, gradients(lstm, x, outputs), alone))


def test_frozen_weights_leave_the_gradient_of_the_input(lstm, x):
    [expected, *_] = gradients(lstm, x, lstm_layer(lstm, x, first_state(), SIZES)[0])
    lstm.requires_grad_(False)
    outputs, _ = lstm_layer(lstm, x, first_state(), SIZES)
    assert torch.equal(torch.autograd.grad(loss_of(outputs), x)[0], expected)


def test_autocast_leaves_products_the_type_of_x(lstm, x):
    expected, _ = lstm_layer(lstm, x, first_state(), SIZES)
    with torch.autocast("cpu"):
        outputs, _ = lstm_layer(lstm, x, first_state(), SIZES)
    assert torch.equal(outputs, expected)
    assert all(map(torch.equal, gradients(lstm, x, outputs), gradients(lstm, x, expected)))


@pytest.mark.parametrize("autocast", [False, True])
def test_bfloat16_is_near_float32(lstm, x, autocast):
    lstm.projection_clip = lstm.cell_clip = 1e9  # a number that is just inside one would be outside in bfloat16
    expected = gradients(lstm, x, lstm_layer(lstm, x, first_state(), SIZES)[0])
    with torch.autocast("cpu") if autocast else nullcontext():
        outputs, state = lstm_layer(lstm, x.bfloat16(), first_state(), SIZES)
    assert outputs.dtype == torch.bfloat16 and state[0].dtype == state[1].dtype == torch.float32
    for ours, exact in zip(gradients(lstm, x, outputs.float()), expected, strict=True):
        assert ours.dtype == torch.float32
        assert (ours - exact).norm() < 0.05 * exact.norm()
