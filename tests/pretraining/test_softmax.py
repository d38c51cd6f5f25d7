"""The sampled softmax: its sampler, its correction, its own backward pass."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from elmo_bench.pretraining.softmax import SampledSoftmax


def probabilities(words):
    return [math.log((k + 2) / (k + 1)) / math.log(words + 1) for k in range(words)]


def test_draws_are_distinct_and_as_frequent_as_the_sampler_says():
    torch.manual_seed(0)
    softmax = SampledSoftmax(words=50, features=2, samples=1)
    counts = np.bincount([int(softmax.draw()[0]) for _ in range(20_000)], minlength=50) / 20_000
    assert sum(probabilities(50)) == pytest.approx(1)
    np.testing.assert_allclose(counts, probabilities(50), atol=0.01)
    softmax = SampledSoftmax(words=50, features=2, samples=20)
    for _ in range(100):
        ids, draws = softmax.draw()
        assert ids.shape == ids.unique().shape == (20,)
        assert draws >= 20
    assert SampledSoftmax(words=50, features=2, samples=80).draw()[0].sort().values.tolist() == list(range(50))


def test_expected_counts_are_those_of_as_many_draws():
    """How often each id is among the distinct ones of 10 draws, against the closed form."""
    softmax = SampledSoftmax(words=20, features=2, samples=5)
    rng = np.random.default_rng(0)
    drawn = rng.choice(20, p=probabilities(20), size=(20_000, 10))
    shares = [(drawn == k).any(axis=1).mean() for k in range(20)]
    found = softmax.log_expected_count(torch.arange(20), torch.tensor(10.0)).exp()
    np.testing.assert_allclose(found, shares, atol=0.015)
    assert found.tolist() == pytest.approx([1 - (1 - p) ** 10 for p in probabilities(20)], abs=1e-6)


def reference(softmax, x, targets, ids, draws):
    """TensorFlow's sampled_softmax_loss, one example at a time; a target among the negatives counts once."""
    words = len(softmax.bias)
    expected = torch.tensor([math.log(1 - (1 - p) ** draws) for p in probabilities(words)])
    logits = x @ softmax.weight.T + softmax.bias - expected
    losses = []
    for row, target in enumerate(targets.tolist()):
        candidates = [target, *(k for k in ids.tolist() if k != target)]
        losses.append(-torch.log_softmax(logits[row, candidates], dim=0)[0])
    return torch.stack(losses).mean()


def test_the_loss_and_its_gradients_are_those_of_a_softmax_over_target_and_negatives(monkeypatch):
    torch.manual_seed(0)
    softmax = SampledSoftmax(words=30, features=4, samples=12)
    torch.nn.init.normal_(softmax.bias)
    drawn = [softmax.draw() for _ in range(2)]
    x, targets = torch.randn(2, 40, 4, requires_grad=True), torch.randint(0, 30, (2, 40))
    assert all(set(side.tolist()) & set(ids.tolist()) for side, (ids, _) in zip(targets, drawn, strict=True))
    expected = torch.stack([reference(softmax, x[d], targets[d], *drawn[d]) for d in (0, 1)])
    (expected * torch.tensor([1.0, 3.0])).sum().backward()
    gradients = [tensor.grad.clone() for tensor in (x, softmax.weight, softmax.bias)]
    x.grad = softmax.weight.grad = softmax.bias.grad = None
    left = iter(drawn)
    monkeypatch.setattr(softmax, "draw", lambda: next(left))
    found = softmax.sampled(x, targets)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    (found * torch.tensor([1.0, 3.0])).sum().backward()
    for tensor, gradient in zip((x, softmax.weight, softmax.bias), gradients, strict=True):
        torch.testing.assert_close(tensor.grad, gradient, atol=1e-6, rtol=1e-4)


def test_the_full_loss_is_cross_entropy_and_the_sampled_one_comes_near_it():
    def distance(samples):
        torch.manual_seed(0)
        softmax = SampledSoftmax(words=100, features=8, samples=samples)
        x, targets = torch.randn(1, 200, 8), torch.randint(0, 100, (1, 200))
        full = softmax.full(x[0], targets[0]).mean()
        torch.testing.assert_close(full, functional.cross_entropy(x[0] @ softmax.weight.T, targets[0]))
        with torch.no_grad():
            return (torch.stack([softmax.sampled(x, targets) for _ in range(30)]).mean() - full).abs().item()

    distances = [distance(samples) for samples in (5, 20, 60, 100)]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 0.01
