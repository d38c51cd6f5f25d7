"""The bidirectional GRU against torch's own on packed texts."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmo_bench.nn.gru import BiGru

LENGTHS = torch.tensor([7, 1, 4, 7])


def test_it_equals_a_packed_one_and_never_reads_padding():
    """Outputs, and the gradients of the input and of every parameter."""
    torch.manual_seed(0)
    ours, theirs = BiGru(5, 3), nn.GRU(5, 3, batch_first=True, bidirectional=True)
    assert ours.dim == 6
    pairs = [
        (parameter, getattr(theirs, name + ending))
        for half, ending in ((ours.onward, ""), (ours.returning, "_reverse"))
        for name, parameter in half.named_parameters()
    ]
    with torch.no_grad():
        for own, other in pairs:
            own.copy_(other)
    mask = torch.arange(7)[None] < LENGTHS[:, None]
    x = torch.randn(4, 7, 5)
    x[~mask] = 1e3
    first, second = x.clone().requires_grad_(), x.clone().requires_grad_()
    packed = pack_padded_sequence(second, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, found = pad_packed_sequence(theirs(packed)[0], batch_first=True)[0], ours(first, mask)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    weights = torch.randn_like(expected)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for own, other in [(first, second), *pairs]:
        torch.testing.assert_close(own.grad, other.grad, atol=1e-5, rtol=1e-5)
