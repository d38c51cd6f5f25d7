"""Adadelta against torch's, and against the C loop that made the first records."""

import math

import torch

from elmo_bench.training.adadelta import Adadelta, GpuAdadelta

SHAPES = ((1100, 3), (4, 3), (5,), ())  # the first is a table of words


def numbers(count, step):
    """Numbers from -1 to 1 that are the same on every machine."""
    n = torch.arange(count, dtype=torch.int64)
    return ((n * 7919 + step * 104729 + 17) * (n + 13) % 2003 - 1001) / 1001


def run(kind, steps, *, resume=None, then=None, shapes=SHAPES, dtype=torch.double, **options):
    """The parameters after some steps; a row of the table has a gradient in few of them, row 0 in each.

    From the step `resume` on, by another optimiser that has the state: of the same kind, or of the kind `then`.
    """
    parameters = [torch.nn.Parameter(numbers(math.prod(shape), 0).to(dtype).view(shape)) for shape in shapes]
    options = {"lr": 0.9, "rho": 0.95, "eps": 1e-6} | options
    optimiser = kind(parameters, **options)
    for step in range(1, steps + 1):
        if step == resume:
            state = optimiser.state_dict()
            optimiser = (then or kind)(parameters, **options)
            optimiser.load_state_dict(state)
        for p in parameters:
            p.grad = numbers(p.numel(), step).to(dtype).view(p.shape)
            if len(p.shape) == 2 and len(p) > 1000:
                p.grad[(torch.arange(len(p)) * step) % 211 > 3] = 0
        optimiser.step()
    return parameters


def test_it_equals_torchs_although_it_skips_rows_without_a_gradient():
    torch.testing.assert_close(run(Adadelta, 60), run(torch.optim.Adadelta, 60), atol=1e-10, rtol=1e-10)


def test_it_goes_on_from_the_state_of_torchs_which_a_gpu_uses():
    whole, moved = run(Adadelta, 40), run(torch.optim.Adadelta, 40, resume=20, then=Adadelta)
    torch.testing.assert_close(whole, moved, atol=1e-10, rtol=1e-10)


def test_a_gpu_goes_on_from_its_state_and_a_cpu_from_the_gpus():
    """With the rows that wait for a gradient, and with the options that torch's has besides."""
    whole, moved = run(Adadelta, 40), run(Adadelta, 40, resume=20, then=GpuAdadelta)
    torch.testing.assert_close(whole, moved, atol=1e-10, rtol=1e-10)
    [table] = parameters = [torch.nn.Parameter(torch.zeros(1100, 3))]
    optimiser = Adadelta(parameters)
    for row in (5, 6):
        table.grad = torch.zeros_like(table)
        table.grad[row] = 1
        optimiser.step()
    before = optimiser.state_dict()
    on_gpu = GpuAdadelta(parameters)
    on_gpu.load_state_dict(before)
    assert "last" not in on_gpu.state_dict()["state"][0]  # a CPU would let the rows decay twice
    assert before["state"][0]["last"][5] == 1
    torch.testing.assert_close(on_gpu.state[table]["square_avg"][5:7, 0], torch.tensor([0.09, 0.1]))


def test_it_equals_the_loop_in_c():
    """The first three numbers of each after 30 steps, by elmo_bench/training/adadelta.c in commit 1d6659e9."""
    table, matrix, *_ = run(Adadelta, 30, lr=0.7, shapes=((1100, 3), (40, 30)), dtype=torch.float32)
    wanted = torch.tensor([-0.7845817804336548, -0.213443323969841, 0.47398605942726135])
    torch.testing.assert_close(table[0], wanted, rtol=2e-7, atol=0)
    torch.testing.assert_close(matrix.flatten()[:3], wanted, rtol=2e-7, atol=0)
