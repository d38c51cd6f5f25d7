"""Pooling and feed-forward layers against plain loops; padding is never read."""

import pytest
import torch

from elmo_bench.nn.feed_forward import FeedForward
from elmo_bench.nn.pooling import AttentivePool, max_pool, mean_pool, min_pool

LENGTHS = (5, 1, 3)


@pytest.fixture
def batch():
    """x [3, 5, 4], whose padding holds numbers that would show, and its mask."""
    torch.manual_seed(0)
    x = torch.randn(3, 5, 4)
    mask = torch.arange(5)[None] < torch.tensor(LENGTHS)[:, None]
    x[~mask] = torch.tensor([1e3, -1e3, 1e3, -1e3])
    return x, mask


def attentive(x, weight):
    scores = torch.tensor([sum(a * b for a, b in zip(token, weight, strict=True)) for token in x.tolist()])
    shares = [s.exp() / scores.exp().sum() for s in scores]
    return sum(share * token for share, token in zip(shares, x, strict=True))


def test_pooling_equals_each_text_by_itself(batch):
    x, mask = batch
    torch.manual_seed(1)
    pool = AttentivePool(4)
    weight = pool.score.weight[0].tolist()
    expected = {
        max_pool: lambda alone: torch.stack([max(column) for column in alone.T]),
        min_pool: lambda alone: torch.stack([min(column) for column in alone.T]),
        mean_pool: lambda alone: sum(alone) / len(alone),
        pool: lambda alone: attentive(alone, weight),
    }
    for pooling, by_hand in expected.items():
        found = pooling(x, mask)
        for row, length in enumerate(LENGTHS):
            torch.testing.assert_close(found[row], by_hand(x[row, :length]))


@pytest.mark.parametrize("pooling", [max_pool, min_pool, mean_pool, AttentivePool(4)])
def test_no_gradient_reaches_padding(batch, pooling):
    x, mask = batch
    x.requires_grad_()
    pooling(x, mask).square().sum().backward()
    assert torch.isfinite(x.grad).all()
    assert not x.grad[~mask].any()
    assert x.grad[mask].any()


def test_feed_forward_equals_a_plain_loop():
    torch.manual_seed(0)
    layers = FeedForward(3, hidden=[5, 2], dropout=0.5).eval()
    x = torch.randn(4, 3)
    expected = x
    for weight, bias in (layers[0].parameters(), layers[3].parameters()):
        expected = (expected @ weight.T + bias).clamp(min=0)
    torch.testing.assert_close(layers(x), expected)
    assert layers.dim == 2
    assert sum(p.numel() for p in layers.parameters()) == 3 * 5 + 5 + 5 * 2 + 2


def test_feed_forward_drops_in_training_alone():
    torch.manual_seed(0)
    layers = FeedForward(3, hidden=[400], dropout=0.5)
    x = torch.randn(1, 3)
    kept = layers(x) != 0
    on = layers.eval()(x) != 0
    assert 0.35 < kept.sum() / on.sum() < 0.65
