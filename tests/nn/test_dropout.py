"""Dropout by 16 random bits a feature: its rate, its scale, its generator."""

import pytest
import torch

from elmo_bench.nn import dropout as dropout_module
from elmo_bench.nn.dropout import Dropout, dropout_mask

SIZE = 400_000


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.2, 0.25, 0.5, 0.9])
def test_the_share_and_the_scale_are_those_of_the_rate(rate):
    torch.manual_seed(0)
    mask = dropout_mask((SIZE // 100, 100), rate, torch.zeros((), dtype=torch.double))
    kept = (mask > 0).double()
    assert mask.shape == (SIZE // 100, 100)
    assert kept.mean().item() == pytest.approx(1 - rate, abs=5 * (rate * (1 - rate) / SIZE) ** 0.5 + 2**-16)
    assert mask.max().item() == pytest.approx(1 / (1 - rate), rel=2**-15 / (1 - rate))
    assert mask.max().item() * round((1 - rate) * 2**16) == pytest.approx(2**16, abs=1e-9)  # the rounded rate's
    columns = kept.mean(dim=0)  # no bit of a number is worse than another
    assert (columns - (1 - rate)).abs().max() < 6 * (rate * (1 - rate) / (SIZE / 100)) ** 0.5 + 2**-16


def test_neighbours_are_independent():
    torch.manual_seed(0)
    kept = (dropout_mask((SIZE,), 0.5, torch.zeros(())) > 0).double() - 0.5
    for distance in (1, 2, 3, 4):
        assert abs((kept[distance:] * kept[:-distance]).mean().item()) < 6 * 0.25 / SIZE**0.5


@pytest.mark.parametrize("count", [1, 3, 4, 5])
def test_every_size_and_the_ends_of_the_range(count):
    like = torch.zeros(())
    assert dropout_mask((count,), 0.5, like).shape == (count,)
    assert dropout_mask((count,), 1e-9, like).tolist() == [1.0] * count  # less than a step of 2⁻¹⁶
    assert set(dropout_mask((count,), 1 - 1e-9, like).tolist()) <= {0.0, 2.0**16}


def test_torchs_generator_decides():
    x = torch.ones(50, 7)
    torch.manual_seed(3)
    first = Dropout(0.3)(x)
    state = torch.get_rng_state()
    second = Dropout(0.3)(x)
    torch.set_rng_state(state)
    assert torch.equal(Dropout(0.3)(x), second)
    torch.manual_seed(3)
    assert torch.equal(Dropout(0.3)(x), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("rate", [1e-9, 0.3, 1 - 1e-9])
def test_compiled_or_not_it_is_the_same(monkeypatch, kind, rate):
    x = torch.randn(7, 13, 5, dtype=kind).transpose(0, 1)
    x[3, 2, 1], x[4, 2, 1] = float("inf"), -0.0
    found = []
    for found_library in (dropout_module.library, lambda *_: None):
        monkeypatch.setattr(dropout_module, "library", found_library)
        torch.manual_seed(5)
        leaf = x.clone().requires_grad_()
        y = Dropout(rate)(leaf)
        y.backward(x)
        found.append((y, leaf.grad))
    for one, other in zip(*found, strict=True):
        assert one.dtype == kind
        assert torch.equal(one.isnan(), other.isnan())
        assert torch.equal(one.nan_to_num(), other.nan_to_num())


def test_no_rate_and_no_training_change_nothing():
    x = torch.randn(4, 5)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x
    with pytest.raises(ValueError, match="dropout=1"):
        Dropout(1.0)


def test_gradients_pass_where_features_are_kept():
    x = torch.randn(30, 40, requires_grad=True)
    torch.manual_seed(0)
    Dropout(0.4)(x).sum().backward()
    torch.manual_seed(0)
    assert torch.equal(x.grad, dropout_mask(x.shape, 0.4, x))
