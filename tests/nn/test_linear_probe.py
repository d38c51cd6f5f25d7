"""What the probes' linear softmax promises: the scale of a layer is not judged."""

import pytest
import torch
from torch.nn import functional

from elmo_bench.nn.linear_probe import LinearProbe


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


def test_in_evaluation_a_score_depends_on_its_vector_alone_and_is_linear_in_it():
    x = torch.randn(64, 5, dtype=torch.float64)
    probe = LinearProbe(5, 4).double()
    for _ in range(50):
        probe(x)
    probe.eval()
    assert torch.allclose(probe(x)[:1], probe(x[:1]))
    assert torch.allclose(probe(x[:2].mean(0, keepdim=True)), probe(x[:2]).mean(0, keepdim=True))


def test_averages_are_those_of_the_training_data():
    x = 3 + 2 * torch.randn(4096, 2)
    probe = LinearProbe(2, 2)
    for step in range(100):
        probe(x[step % 8 :: 8])
    assert probe.standardise.running_mean.tolist() == pytest.approx(x.mean(0).tolist(), abs=0.1)
    assert probe.standardise.running_var.tolist() == pytest.approx(x.var(0).tolist(), rel=0.1)


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
