"""Adadelta over tables of words against torch's; fused Adam by name."""

import torch

from elmo_bench.training.optimisers import Adadelta, build_optimiser


def gradients(steps):
    """Of a table of 1,100 words of which few occur in a step, and of a small matrix."""
    torch.manual_seed(1)
    for _ in range(steps):
        table = torch.zeros(1100, 3, dtype=torch.double)
        table[torch.randint(0, 40, (5,))] = torch.randn(5, 3, dtype=torch.double)
        yield [table, torch.randn(4, 3, dtype=torch.double)]


def run(kind, steps, *, resume=None):
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(rows, 3, dtype=torch.double)) for rows in (1100, 4)]
    optimiser = kind(parameters, lr=0.9, rho=0.95, eps=1e-6)
    for step, found in enumerate(gradients(steps)):
        if step == resume:
            state = optimiser.state_dict()
            optimiser = kind(parameters, lr=0.9, rho=0.95, eps=1e-6)
            optimiser.load_state_dict(state)
        for p, gradient in zip(parameters, found, strict=True):
            p.grad = gradient
        optimiser.step()
        assert parameters[0].grad is found[0]
    return parameters, optimiser


def test_adadelta_equals_torchs_although_it_skips_rows_without_a_gradient():
    ours, theirs = run(Adadelta, 60)[0], run(torch.optim.Adadelta, 60)[0]
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other, atol=1e-10, rtol=1e-10)


def test_adadelta_goes_on_from_its_state():
    once, again = run(Adadelta, 60)[0], run(Adadelta, 60, resume=31)[0]
    assert all(torch.equal(one, other) for one, other in zip(once, again, strict=True))


def test_a_row_that_had_no_gradient_has_not_changed():
    table = run(Adadelta, 5)[0][0]
    torch.manual_seed(0)
    assert torch.equal(table[40:], torch.randn(1100, 3, dtype=torch.double)[40:])


def test_adam_goes_over_the_memory_once():
    assert build_optimiser({"name": "adam", "lr": 0.1}, [torch.nn.Parameter(torch.ones(2))]).defaults["fused"]
