"""Adadelta in C against the same in torch: float32 numbers are equal bit by bit."""

import pytest
import torch

from elmo_bench.base.progress import forget_kernels, kernels_used
from elmo_bench.training import adadelta
from elmo_bench.training.adadelta import TABLE, Adadelta
from tests.nn.test_compiled import needs_compiler
from tests.runs import first_ones

MATRICES = ((4, 3), (7, 13), (64, 33), (TABLE - 1, 5))
TABLES = ((TABLE, 1), (TABLE, 3), (TABLE + 1, 17), (2000, 100))
OTHERS = ((), (0,), (1,), (5,), (16,), (31,), (1000,), (40_007,), (3, 5, 7), (2000, 3, 2))
SHAPES = (*MATRICES, *TABLES, *OTHERS)
OPTIONS = {"lr": 1.0, "rho": 0.95, "eps": 1e-6}
STEPS = 6

# Torch multiplies and adds in one rounding where the processor does.
WITHOUT_FUSED_PRODUCTS = {"DEFAULT", "NO AVX"}
pytestmark = [
    needs_compiler,
    pytest.mark.skipif(
        torch.backends.cpu.get_cpu_capability() in WITHOUT_FUSED_PRODUCTS, reason="no fused products in torch"
    ),
]


def parameters_of(shapes, dtype=torch.float32):
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in shapes]


def gradient_of(p, step):
    """Of another size at each step; of a table, a tenth of the rows, and no row at the second step."""
    gradient = torch.randn_like(p) * 10.0 ** (step % 5 - 3)
    if tuple(p.shape) in TABLES:
        share = 0.0 if step == 1 else 0.1
        gradient[torch.rand(len(p)) >= share] = 0
    return gradient


def train(optimiser, *, first=0, change=None):
    """Some steps. `change`: from a gradient to the one that the optimiser gets."""
    [group] = optimiser.param_groups
    for step in range(first, first + STEPS):
        torch.manual_seed(step)
        for p in group["params"]:
            gradient = gradient_of(p, step)
            p.grad = change(gradient) if change else gradient
        optimiser.step()


def trained(parameters, *, change=None, **options):
    optimiser = Adadelta(parameters, **OPTIONS | options)
    train(optimiser, change=change)
    return numbers_of(optimiser)


def numbers_of(optimiser):
    """Each parameter and its state."""
    [group] = optimiser.param_groups
    return [{"parameter": p.detach().clone(), **optimiser.state[p]} for p in group["params"]]


def without_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")


def assert_equal(one, other, rtol=0.0, atol=0.0):
    torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)


def assert_both_give_the_same(monkeypatch, run, **tolerance):
    """Returns what `run` gives."""
    in_c = run()
    without_compiler(monkeypatch)
    assert_equal(in_c, run(), **tolerance)
    return in_c


@pytest.mark.parametrize(
    "options",
    first_ones(
        [
            {},
            {"lr": 0.123, "rho": 0.9, "eps": 1e-8},
            {"lr": 0.5},
            {"rho": 0.999, "eps": 1e-3},
            {"rho": 0.0},
            {"lr": 0.0},
        ],
        2,
    ),
)
def test_each_shape_has_the_same_numbers(monkeypatch, options):
    assert_both_give_the_same(monkeypatch, lambda: trained(parameters_of(SHAPES), **options))


def test_float64_differs_by_rounding(monkeypatch):
    """Torch's own roots are not always the nearest numbers."""
    run = lambda: trained(parameters_of(SHAPES, torch.float64))  # noqa: E731
    assert_both_give_the_same(monkeypatch, run, rtol=1e-13, atol=1e-15)


def every_other_column(gradient):
    wider = gradient.new_full((*gradient.shape[:-1], 2 * gradient.shape[-1]), float("nan"))
    wider[..., ::2] = gradient
    return wider[..., ::2]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda gradient: gradient.T.contiguous().T, id="column by column"),
        pytest.param(every_other_column, id="every other column"),
        pytest.param(lambda gradient: gradient[:, :1].expand_as(gradient), id="one column"),
    ],
)
def test_a_gradient_may_lie_in_memory_in_any_order(monkeypatch, change):
    assert_both_give_the_same(monkeypatch, lambda: trained(parameters_of((*MATRICES, *TABLES)), change=change))


def test_a_parameter_may_lie_in_memory_in_any_order(monkeypatch):
    def run():
        parameters = [torch.nn.Parameter(p.detach().T) for p in parameters_of([(33, 64), (3, TABLE)])]
        return trained(parameters)

    assert_both_give_the_same(monkeypatch, run)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, 1e38])
def test_a_gradient_may_be_any_number(monkeypatch, value):
    def change(gradient):
        gradient[3] = 0
        gradient[3, -1] = value
        return gradient

    run = lambda: trained(parameters_of([(7, 13), (TABLE, 3)]), change=change)  # noqa: E731
    _, table = assert_both_give_the_same(monkeypatch, run)
    assert bool(table["last"][3]) == (value != 0)


@pytest.mark.parametrize("kind", [Adadelta, torch.optim.Adadelta], ids=["ours", "torch's"])
@pytest.mark.parametrize("column_by_column", [False, True])
def test_it_goes_on_from_a_state(monkeypatch, kind, column_by_column):
    """From ours, which has the last step of each row, or from torch's, which a GPU uses."""

    def run():
        parameters = parameters_of(SHAPES)
        before = kind(parameters, **OPTIONS)
        train(before)
        state = before.state_dict()
        if column_by_column:
            for number in range(len(MATRICES) + len(TABLES)):
                part = state["state"][number]
                part["square_avg"] = part["square_avg"].T.contiguous().T
                part["acc_delta"] = part["acc_delta"].T.contiguous().T
        optimiser = Adadelta(parameters, **OPTIONS)
        optimiser.load_state_dict(state)
        train(optimiser, first=STEPS)
        return numbers_of(optimiser)

    assert_both_give_the_same(monkeypatch, run)


def test_a_run_may_go_on_where_there_is_no_compiler(monkeypatch):
    in_c, changed = (Adadelta(parameters_of(SHAPES), **OPTIONS) for _ in range(2))
    for optimiser in (in_c, changed):
        train(optimiser)
    train(in_c, first=STEPS)
    without_compiler(monkeypatch)
    train(changed, first=STEPS)
    assert_equal(numbers_of(in_c), numbers_of(changed))


def test_a_row_waits_for_its_next_gradient(monkeypatch):
    monkeypatch.setattr(adadelta, "_update_in_torch", None)
    [table] = parameters_of([(TABLE, 3)])
    before = table.detach().clone()
    optimiser = Adadelta([table], **OPTIONS)
    for row in (5, 6, 5):
        table.grad = torch.zeros_like(table)
        table.grad[row] = 1
        optimiser.step()
    state = optimiser.state[table]
    moved = (table != before).any(dim=1).nonzero().flatten()
    assert moved.tolist() == [5, 6]
    assert state["last"].nonzero().flatten().tolist() == [5, 6]
    assert state["last"][5:7].tolist() == [3, 2]
    average = [0.05 * 0.95**2 + 0.05, 0.05]  # with rho = 0.95
    torch.testing.assert_close(state["square_avg"][5:7], torch.tensor(average)[:, None].expand(2, 3))


def test_a_run_says_which_it_used():
    for dtype, how in ((torch.float32, "c"), (torch.bfloat16, "torch")):  # no C file has the second type
        [p] = parameters_of([(5,)], dtype)
        p.grad = torch.ones_like(p)
        forget_kernels()
        Adadelta([p]).step()
        assert kernels_used() == {"adadelta": how}
