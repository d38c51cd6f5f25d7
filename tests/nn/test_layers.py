"""Small layers against plain loops: padding is never read, and the scale of a layer is not judged by a probe."""

import pytest
import torch

from elmo_bench.nn.layers import AttentivePool, LinearProbe, max_pool, mean_pool, min_pool

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
