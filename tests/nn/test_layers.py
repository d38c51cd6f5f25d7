"""Small layers against plain loops: padding is never read, and the scale of a layer is not judged by a probe."""

import pytest
import torch
from torch.nn import functional

from elmo_bench.nn.layers import AttentivePool, FeedForward, LinearProbe, max_pool, mean_pool, min_pool

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


def trained(x, y, steps=200):
    torch.manual_seed(0)
    probe = LinearProbe(x.shape[1], 3)
    optimizer = torch.optim.Adam(probe.parameters(), lr=0.01)
    for step in range(steps):
        rows = torch.arange(step % 8, len(x), 8)
        loss = functional.cross_entropy(probe(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return probe.eval()


def test_a_layer_learns_as_fast_whatever_its_scale_and_offset():
    lot = torch.Generator().manual_seed(1)
    x = torch.randn(512, 12, generator=lot)
    y = (x @ torch.randn(12, 3, generator=lot)).argmax(dim=1)
    plain, other = trained(x, y)(x), trained(0.01 * x + 0.3, y)(0.01 * x + 0.3)
    assert (plain.argmax(dim=1) == y).float().mean() > 0.9
    assert torch.allclose(plain, other, atol=0.02)


def test_a_batch_of_one_word_is_trained_on_with_the_running_averages():
    probe = LinearProbe(3, 2)
    probe(5 + torch.randn(64, 3))
    before = {name: value.clone() for name, value in probe.state_dict().items()}
    x = torch.randn(1, 3)
    scores = probe(x)
    scores.sum().backward()
    assert probe.scores.weight.grad.abs().sum() > 0
    assert all(torch.equal(value, before[name]) for name, value in probe.state_dict().items())
    assert torch.equal(scores, probe.eval()(x))
