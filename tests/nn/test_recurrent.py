"""Bidirectional layers against torch's own on packed texts. Other cells: tests/tasks/test_srl_lstm.py and coref."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmo_bench.nn.recurrent import BiGru, BiLstm
from tests.nn.test_compiled import needs_compiler

LENGTHS = torch.tensor([7, 1, 4, 7])
MASK = torch.arange(7)[None] < LENGTHS[:, None]


def test_bf16_mixed_leaves_recurrent_layers_in_float32():
    x, lstm = torch.randn(4, 7, 5), BiLstm(5, 3)
    with torch.autocast("cpu", torch.bfloat16):
        under = lstm(x.bfloat16(), MASK)
    assert torch.equal(under, lstm(x.bfloat16().float(), MASK))


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
        monkeypatch.setenv("CC", "no-such-compiler")
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
