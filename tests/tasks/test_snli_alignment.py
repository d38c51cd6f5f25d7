"""Soft alignment against a plain loop; padding is never read."""

import pytest
import torch

from elmo_bench.tasks.snli.head import align

LENGTHS, OTHERS = (5, 1, 3), (2, 4, 1)


@pytest.fixture
def batch():
    """x [3, 5, 6], other [3, 4, 6], whose padding holds numbers that would show, and the other's mask."""
    torch.manual_seed(0)
    x, other = torch.randn(3, 5, 6), torch.randn(3, 4, 6)
    mask = torch.arange(4)[None] < torch.tensor(OTHERS)[:, None]
    other[~mask] = 1e3
    return x, other, mask


def test_alignment_equals_a_plain_loop(batch):
    x, other, mask = batch
    found = align(x, other, mask)
    assert found.shape == x.shape
    for row, (length, there) in enumerate(zip(LENGTHS, OTHERS, strict=True)):
        for token in range(length):
            weights = [
                sum(a * b for a, b in zip(x[row, token], other[row, k], strict=True)).exp() for k in range(there)
            ]
            expected = sum(weights[k] * other[row, k] for k in range(there)) / sum(weights)
            torch.testing.assert_close(found[row, token], expected, atol=1e-5, rtol=1e-4)


def test_no_gradient_reaches_padding(batch):
    x, other, mask = (part.requires_grad_() if part.is_floating_point() else part for part in batch)
    align(x, other, mask).square().sum().backward()
    assert torch.isfinite(other.grad).all()
    assert not other.grad[~mask].any()
    assert other.grad[mask].any()
    assert x.grad.any()
