"""The coupled biLSTM against a plain loop over one sentence, its dropout, and its start."""

import pytest
import torch

from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.tasks.coref.head import CoupledBiLstm


def plainly(module, sentence, direction, keep=1.0):
    """[T, H] of one sentence [T, D], step by step."""
    layer, recurrent = module.inputs[direction], module.recurrent[direction]
    h, c = module.first[0, direction], module.first[1, direction]
    outputs = {}
    for place in range(len(sentence)) if direction == 0 else reversed(range(len(sentence))):
        j, i, o = (layer(sentence[place]) + recurrent @ (keep * h)).chunk(3)
        c = (1 - torch.sigmoid(i)) * c + torch.sigmoid(i) * torch.tanh(j)
        h = torch.sigmoid(o) * torch.tanh(c)
        outputs[place] = h
    return torch.stack([outputs[place] for place in range(len(sentence))])


def module(dropout=0.0):
    torch.manual_seed(0)
    lstm = CoupledBiLstm(5, 4, dropout=dropout).double()
    torch.nn.init.normal_(lstm.first)
    return lstm


def test_equals_a_plain_loop_and_never_reads_padding():
    lstm, lengths = module(), torch.tensor([3, 7, 1, 6])
    mask = torch.arange(7)[None] < lengths[:, None]
    x = torch.randn(4, 7, 5, dtype=torch.float64)
    y = lstm(x, mask)
    assert y.shape == (4, 7, lstm.dim)
    for row, length in enumerate(lengths.tolist()):
        sentence = x[row, :length]
        plain = torch.cat([plainly(lstm, sentence, 0), plainly(lstm, sentence, 1)], dim=1)
        torch.testing.assert_close(y[row, :length], plain)
        assert not y[row, length:].any()
        x[row, length:] = torch.nan
    torch.testing.assert_close(lstm(x.nan_to_num(1e6), mask), y)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_gradients_equal_those_of_the_plain_loop(dropout):
    lstm, x = module(dropout), torch.randn(3, 6, 5, dtype=torch.float64, requires_grad=True)
    lengths, weights = (6, 1, 4), torch.randn(3, 6, 8, dtype=torch.float64)
    mask = torch.arange(6)[None] < torch.tensor(lengths)[:, None]
    inputs = [x, *lstm.parameters()]
    torch.manual_seed(5)
    ours = torch.autograd.grad((lstm(x, mask) * weights).sum(), inputs)
    torch.manual_seed(5)
    keep = dropout_mask((3, 2, 4), dropout, x)
    total = 0
    for row, length in enumerate(lengths):
        both = [plainly(lstm, x[row, :length], direction, keep[row, direction]) for direction in (0, 1)]
        total = total + (torch.cat(both, dim=1) * weights[row, :length]).sum()
    for mine, theirs in zip(ours, torch.autograd.grad(total, inputs), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-10, rtol=1e-10)
