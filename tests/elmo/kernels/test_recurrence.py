"""The recurrence's own backward pass against autograd on a plain loop."""

import pytest
import torch

from elmo_bench.elmo.kernels import recurrence

STEPS, ROWS, CELL, PROJECTION = 6, 3, 5, 4


def plain_loop(x, weight, bias, projection, h, c, keep, cell_clip, projection_clip):  # noqa: PLR0917
    """TensorFlow's LSTMCell as bilm-tf uses it (bilm/model.py), a step at a time; autograd does the rest.

    The 1 of the forget gate is in the bias.
    """
    outputs = []
    for t in range(x.shape[1]):
        if keep is not None:
            h, c = h * keep[:, t, :, None], c * keep[:, t, :, None]
        i, j, f, o = (torch.cat([x[:, t], h], dim=2) @ weight + bias[:, None]).chunk(4, dim=2)
        c = (torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(j)).clamp(-cell_clip, cell_clip)
        h = ((torch.sigmoid(o) * torch.tanh(c)) @ projection).clamp(-projection_clip, projection_clip)
        outputs.append(h)
    return torch.stack(outputs, dim=1), h, c


def parts():
    torch.manual_seed(0)
    shapes = [(2, STEPS, ROWS, PROJECTION), (2, 2 * PROJECTION, 4 * CELL), (2, 4 * CELL), (2, CELL, PROJECTION)]
    return [torch.randn(shape, requires_grad=True) for shape in shapes], (
        0.1 * torch.randn(2, ROWS, PROJECTION),
        0.1 * torch.randn(2, ROWS, CELL),
    )


@pytest.mark.parametrize("clips", [(3.0, 3.0), (0.3, 3.0), (3.0, 0.2), (0.3, 0.2)])
@pytest.mark.parametrize("resets", [False, True])
def test_the_backward_pass_is_that_of_autograd_on_a_plain_loop(clips, resets):
    ours, state = parts()
    plain = [tensor.detach().clone().requires_grad_() for tensor in ours]
    keep = (torch.rand(2, STEPS, ROWS) > 0.4).float() if resets else None
    probe = torch.randn(2, STEPS, ROWS, PROJECTION)
    found = recurrence.Recurrence.apply(*ours, *state, keep, [ROWS] * STEPS, *clips)
    expected = plain_loop(*plain, *state, keep, *clips)
    for left, right in zip(found, expected, strict=True):
        torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-5)
    if clips[1] < 1:
        assert (expected[0].abs() == clips[1]).any()  # the clip was tried
    if clips[0] < 1:
        assert (expected[2].abs() == clips[0]).any()
    (found[0] * probe).sum().backward()
    (expected[0] * probe).sum().backward()
    for left, right in zip(ours, plain, strict=True):
        torch.testing.assert_close(left.grad, right.grad, atol=1e-5, rtol=1e-5)


def test_a_row_that_ended_keeps_its_state_and_the_others_their_gradients():
    ours, state = parts()
    sizes, end = [3, 3, 3, 2, 2, 1], [6, 5, 3]
    y, h, c = recurrence.Recurrence.apply(*ours, *state, None, sizes, 3.0, 0.9)
    alive = torch.arange(STEPS)[:, None] < torch.tensor(end)
    (y * alive[:, :, None]).sum().backward()
    gradients = [tensor.grad.clone() for tensor in ours]
    for tensor in ours:
        tensor.grad = None
    total = torch.zeros(())
    for row, length in enumerate(end):
        x, *weights = ours
        one = (part[:, row : row + 1] for part in state)
        outputs, last_h, last_c = plain_loop(x[:, :length, row : row + 1], *weights, *one, None, 3.0, 0.9)
        torch.testing.assert_close(y[:, :length, row : row + 1], outputs, atol=1e-5, rtol=0)
        torch.testing.assert_close((h[:, row : row + 1], c[:, row : row + 1]), (last_h, last_c), atol=1e-5, rtol=0)
        total = total + outputs.sum()
    total.backward()
    for found, tensor in zip(gradients, ours, strict=True):
        torch.testing.assert_close(found, tensor.grad, atol=1e-5, rtol=1e-5)
