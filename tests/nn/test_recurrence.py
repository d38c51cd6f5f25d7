"""`recur` with plain LSTM cells against torch's LSTM; the other cells are tested with their layers."""

import pytest
import torch

from elmo_bench.nn.recurrence import Lstm, recur
from elmo_bench.nn.recurrent import BiLstm


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
    for own, other in zip(
        torch.autograd.grad((found * weights).sum(), inputs),
        torch.autograd.grad((expected * weights).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(own, other, atol=1e-10, rtol=1e-10)
