"""Alternating highway LSTMs: equal to a plain loop, in values and gradients."""

from functools import partial

import pytest
import torch
from torch import nn

from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.nn.recurrent import BiGru
from elmo_bench.tasks.srl import highway_lstm
from elmo_bench.tasks.srl.highway_lstm import AlternatingLstm, HighwayLstm
from tests.nn.test_compiled import needs_compiler

LENGTHS = (5, 1, 3)
MASK = torch.arange(max(LENGTHS))[None] < torch.tensor(LENGTHS)[:, None]  # BT


def plainly(layer, x, keep=None):
    """x [T, D] of one sentence -> [T, H], gate by gate."""
    size = layer.recurrent.shape[1]
    hidden, cell, outputs = x.new_zeros(size), x.new_zeros(size), {}
    steps = range(len(x) - 1, -1, -1) if layer.backwards else range(len(x))
    for t in steps:
        parts = []
        for block in range(6):
            rows = slice(block * size, (block + 1) * size)
            part = layer.input_weight[rows] @ x[t]
            parts.append(part if block == 5 else part + layer.recurrent[rows] @ hidden + layer.bias[rows])
        g, i, f, o, r, linear = parts
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = r.sigmoid() * (o.sigmoid() * cell.tanh()) + (1 - r.sigmoid()) * linear
        hidden = hidden if keep is None else hidden * keep
        outputs[t] = hidden
    return torch.stack([outputs[t] for t in range(len(x))])


@pytest.fixture
def stack():
    """Eight layers in double precision with random parameters, forget biases and all."""
    torch.manual_seed(0)
    stack = AlternatingLstm(3, [4] * 8, dropout=0.1).double().eval()
    for parameter in stack.parameters():
        nn.init.normal_(parameter, std=0.6)
    return stack


def batch():
    torch.manual_seed(1)
    return torch.randn(len(LENGTHS), max(LENGTHS), 3, dtype=torch.double)


def test_a_stack_equals_a_plain_loop_over_each_sentence(stack):
    x = batch()
    y = stack(x, MASK)
    assert y.shape == (3, 5, stack.dim) == (3, 5, 4)
    for row, length in enumerate(LENGTHS):
        expected = x[row, :length]
        for number, layer in enumerate(stack.layers):
            assert layer.backwards == (number % 2 == 1)
            expected = plainly(layer, expected)
        torch.testing.assert_close(y[row, :length], expected)
        assert not y[row, length:].any()


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_layer_with_dropout_has_the_gradients_of_the_plain_loop(backwards, dropout):
    torch.manual_seed(0)
    layer = HighwayLstm(3, 4, backwards=backwards).double()
    x, weights = batch().requires_grad_(), torch.randn(3, 5, 4, dtype=torch.double)
    inputs, keep = [x, *layer.parameters()], dropout_mask((3, 1, 4), dropout, x)
    ours = torch.autograd.grad((layer(x, MASK, keep) * weights).sum(), inputs)
    total = sum(
        (plainly(layer, x[row, :length], keep[row, 0]) * weights[row, :length]).sum()
        for row, length in enumerate(LENGTHS)
    )
    torch.testing.assert_close(ours, torch.autograd.grad(total, inputs), atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("scale", [0.1, 1, 30])
def test_in_float32_it_agrees_with_float64_where_gates_are_open_and_where_they_are_shut(scale):
    torch.manual_seed(0)
    lengths, size = torch.tensor([9, 7, 7, 4, 2, 1]), 21  # rows by four, three, two and one; 105 and 21 columns
    mask = torch.arange(9)[None] < lengths[:, None]
    layer = HighwayLstm(5, size, backwards=True)
    x, weights = scale * torch.randn(6, 9, 5), torch.randn(6, 9, size)
    found = []
    for kind in (torch.float32, torch.float64):
        inputs = [x.detach().to(kind).requires_grad_(), *layer.to(kind).parameters()]
        y = layer(inputs[0], mask)
        found.append([y, *torch.autograd.grad((y * weights).sum(), inputs)])
    torch.testing.assert_close(*found, atol=2e-5 * scale, rtol=1e-4, check_dtype=False)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_without_a_compiler_a_layer_is_the_plain_loop(backwards, dropout, monkeypatch):
    """As on a GPU: values and gradients."""
    monkeypatch.setenv("CC", "no-such-compiler")
    test_a_layer_with_dropout_has_the_gradients_of_the_plain_loop(backwards, dropout)
    layer, x = highway_lstm.HighwayLstm(3, 4, backwards=backwards).double(), batch()
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(layer(x, MASK)[row, :length], plainly(layer, x[row, :length]))


@pytest.mark.parametrize(
    ("kind", "in_c"),
    [
        pytest.param(BiGru, True, marks=needs_compiler),
        pytest.param(partial(HighwayLstm, backwards=False), True, marks=needs_compiler),
        (partial(HighwayLstm, backwards=False), False),
    ],
)
def test_what_one_backward_pass_cannot_give_is_an_error(kind, in_c, monkeypatch):
    """Second derivatives would be wrong, and a second pass would read what the first has overwritten."""
    if not in_c:
        monkeypatch.setenv("CC", "no-such-compiler")
    x = batch().float().requires_grad_()
    layer = kind(3, 4)
    [gradient] = torch.autograd.grad(layer(x, MASK).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
    total = layer(x, MASK).sum()
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match=r"Run the forward pass again\.$"):
        total.backward()
