"""Adadelta, compiled and not, against torch's."""

import pytest
import torch

from elmo_bench.training import adadelta
from elmo_bench.training.adadelta import Adadelta
from tests.compiler import needs_compiler

SHAPES = ((1100, 3), (4, 3), (5,), ())  # the first is a table of words


@pytest.fixture(params=[pytest.param("compiled", marks=needs_compiler), "in torch"])
def either(request, monkeypatch):
    if request.param == "in torch":
        monkeypatch.setattr(adadelta, "library", lambda *_: None)


def gradients(steps):
    """Of a table of which few rows occur in a step, and of small parameters; one lies in memory column by column."""
    torch.manual_seed(1)
    for _ in range(steps):
        table = torch.zeros(1100, 3, dtype=torch.double)
        table[torch.randint(0, 40, (5,))] = torch.randn(5, 3, dtype=torch.double)
        columns = torch.randn(3, 4, dtype=torch.double).T
        yield [table, columns, *(torch.randn(shape, dtype=torch.double) for shape in SHAPES[2:])]


def run(kind, steps, *, resume=None):
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(shape, dtype=torch.double)) for shape in SHAPES]
    optimiser = kind(parameters, lr=0.9, rho=0.95, eps=1e-6)
    for step, found in enumerate(gradients(steps)):
        if step == resume:
            state = optimiser.state_dict()
            optimiser = kind(parameters, lr=0.9, rho=0.95, eps=1e-6)
            optimiser.load_state_dict(state)
        for p, gradient in zip(parameters, found, strict=True):
            p.grad = gradient
        optimiser.step()
        assert all(p.grad is gradient for p, gradient in zip(parameters, found, strict=True))
    return parameters


@pytest.mark.usefixtures("either")
def test_it_equals_torchs_although_it_skips_rows_without_a_gradient():
    for own, other in zip(run(Adadelta, 60), run(torch.optim.Adadelta, 60), strict=True):
        torch.testing.assert_close(own, other, atol=1e-10, rtol=1e-10)


@pytest.mark.usefixtures("either")
def test_it_goes_on_from_its_state():
    once, again = run(Adadelta, 60), run(Adadelta, 60, resume=31)
    assert all(torch.equal(one, other) for one, other in zip(once, again, strict=True))


@pytest.mark.parametrize("compiled_first", [True, False])
def test_either_kind_goes_on_from_the_state_of_the_other(monkeypatch, compiled_first):
    found, calls = adadelta.library, iter(range(10**6))

    def library(source, like):
        early = next(calls) < 30 * len(SHAPES)
        return found(source, like) if early == compiled_first else None

    monkeypatch.setattr(adadelta, "library", library)
    changed = run(Adadelta, 60, resume=30)
    for own, other in zip(changed, run(torch.optim.Adadelta, 60), strict=True):
        torch.testing.assert_close(own, other, atol=1e-10, rtol=1e-10)


@pytest.mark.usefixtures("either")
def test_a_row_that_had_no_gradient_has_not_changed():
    table = run(Adadelta, 5)[0]
    torch.manual_seed(0)
    assert torch.equal(table[40:], torch.randn(1100, 3, dtype=torch.double)[40:])


@pytest.mark.usefixtures("either")
def test_a_gradient_that_is_not_a_number_shows():
    table = torch.nn.Parameter(torch.zeros(1024, 2))
    table.grad = torch.zeros_like(table)
    table.grad[7, 1] = float("nan")
    Adadelta([table]).step()
    assert table.isnan().nonzero().tolist() == [[7, 1]]
