"""Recurrent layers against torch's own: bidirectional ones on packed texts, and the loop over time with LSTM cells."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmo_bench.nn import recurrent
from elmo_bench.nn.recurrence import Lstm, recur
from elmo_bench.nn.recurrent import BiGru, BiLstm
from tests.compiler import needs_compiler

LENGTHS = torch.tensor([7, 1, 4, 7])
MASK = torch.arange(7)[None] < LENGTHS[:, None]


@pytest.mark.parametrize(
    ("kind", "torchs", "in_c"),
    [
        pytest.param(BiGru, nn.GRU, True, marks=needs_compiler),
        (BiGru, nn.GRU, False),
        (BiLstm, nn.LSTM, False),
    ],
)
def test_it_equals_a_packed_one_and_never_reads_padding(kind, torchs, in_c, monkeypatch):
    """From the same seed: the first weights, outputs, and the gradients of the input and of every parameter."""
    if not in_c:
        monkeypatch.setattr(recurrent, "loops", lambda *_: None)
    torch.manual_seed(0)
    ours = kind(5, 3).double()
    torch.manual_seed(0)
    theirs = torchs(5, 3, batch_first=True, bidirectional=True).double()
    assert ours.dim == 6
    pairs = list(zip(ours.parameters(), theirs.parameters(), strict=True))  # onward first, in torch's order
    for own, other in pairs:
        assert torch.equal(own, other)
    x = torch.randn(4, 7, 5, dtype=torch.double)
    x[~MASK] = 1e3
    first, second = x.clone().requires_grad_(), x.clone().requires_grad_()
    packed = pack_padded_sequence(second, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, found = pad_packed_sequence(theirs(packed)[0], batch_first=True)[0], ours(first, MASK)
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)
    weights = torch.randn_like(expected)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for own, other in [(first, second), *pairs]:
        torch.testing.assert_close(own.grad, other.grad, atol=1e-10, rtol=1e-10)


def ours(torchs, x, mask):
    """The layer with torch's parameters, whose gates come as i, f, g, o."""
    layers, hidden = (torchs.forwards, torchs.backwards), torchs.dim // 2

    def ordered(parameter):
        i, f, g, o = parameter.split(hidden)
        return torch.cat([g, i, f, o])

    weight = torch.cat([ordered(layer.weight_ih_l0) for layer in layers])
    bias = torch.cat([ordered(layer.bias_ih_l0 + layer.bias_hh_l0) for layer in layers])
    recurrent = torch.stack([ordered(layer.weight_hh_l0) for layer in layers])
    return recur(Lstm, x, mask, weight=weight, bias=bias, recurrent=recurrent, backwards=(False, True))


@pytest.mark.parametrize("lengths", [(5, 2, 3), (5, 5, 5), (1, 1, 1)])
def test_lstm_cells_equal_torchs_layer(lengths):
    torch.manual_seed(0)
    layer = BiLstm(6, 4).double()
    x = torch.randn(3, max(lengths), 6, dtype=torch.double, requires_grad=True)
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    found, expected = ours(layer, x, mask), layer(x, mask)
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)
    inputs, weights = [x, *layer.parameters()], torch.randn_like(expected)
    ours_, torchs = (torch.autograd.grad((y * weights).sum(), inputs) for y in (found, expected))
    torch.testing.assert_close(ours_, torchs, atol=1e-10, rtol=1e-10)
