"""Dropout by 16 random bits a feature; pooling that never reads padding; a probe that does not judge scale."""

from hashlib import sha256

import pytest
import torch

from elmo_bench.nn.dropout import Dropout, VariationalDropout, dropout
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


def test_a_probe_standardises_every_number_of_a_vector():
    x = torch.randn(20, 3, generator=torch.manual_seed(0))
    probe, other = LinearProbe(3, 2), LinearProbe(3, 2)
    other.load_state_dict(probe.state_dict())
    torch.testing.assert_close(probe(x), other(1000 * x + 5), atol=1e-3, rtol=1e-3)


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


# Digests of the values and of the gradient, which a loop in C computed (elmo_bench/nn/dropout.c in commit 1d6659e9).
IN_C = {
    (torch.float32, 0.1): ("8c4547243df37f02", "ef37ecf9f1fb5fd3"),
    (torch.float32, 0.33): ("5973b5db90e10b85", "193433e64f5a46c4"),
    (torch.float32, 0.9): ("123f94493850840e", "401a99c182767cd6"),
    (torch.float64, 0.5): ("daec18733cab35ba", "ec40aa51aae4b3ac"),
}


@pytest.mark.parametrize(("kind", "rate"), IN_C)
def test_masks_and_values_are_those_of_the_first_records_bit_by_bit(kind, rate):
    x = (torch.arange(-500, 501, dtype=kind) / 7).view(7, 11, 13).transpose(0, 1).requires_grad_()
    torch.manual_seed(5)
    y = dropout(x, rate)
    y.backward(x.detach() / 3)
    digests = [sha256(array.contiguous().numpy().tobytes()).hexdigest()[:16] for array in (y.detach(), x.grad)]
    assert tuple(digests) == IN_C[kind, rate]


def test_no_rate_and_no_training_change_nothing():
    x = torch.randn(4, 5)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x
    with pytest.raises(ValueError, match="dropout=1"):
        Dropout(1.0)


def test_variational_dropout_has_one_mask_a_sequence():
    torch.manual_seed(0)
    dropped = VariationalDropout(0.5)(torch.ones(6, 9, 50))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert (dropped == dropped[:, :1]).all()
    assert not (dropped[0, 0] == dropped[1, 0]).all()
    assert dropped.mean().item() == pytest.approx(1, abs=0.2)


def test_a_probe_reads_small_numbers_as_it_reads_large_ones():
    x = torch.randn(20, 3, generator=torch.manual_seed(0))
    probe, other = LinearProbe(3, 2), LinearProbe(3, 2)
    other.load_state_dict(probe.state_dict())
    torch.testing.assert_close(other(1e-3 * x), probe(x), atol=0.02, rtol=0.02)
