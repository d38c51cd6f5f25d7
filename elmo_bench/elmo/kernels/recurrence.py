"""The time loop of `model.ProjectedLstm` for a batch, both directions at once: in place, or with its own backward pass.

The 1 of the forget gate is in the inputs already. The backward pass is written by hand because autograd would compute
every weight gradient once a step; here each is one product over all steps.
"""

from itertools import groupby

import torch
from torch import Tensor

from elmo_bench.nn.fused import fused


def tanh(x: Tensor) -> Tensor:
    """tanh through the sigmoid, which PyTorch vectorises on CPUs: several times faster there, and within 1e-7."""
    return 2 * torch.sigmoid(2 * x) - 1


def advance(gates: Tensor, c: Tensor, raw: Tensor, clip: float) -> Tensor:
    """A step without gradients, in place: gates [.., B, 4H] in the order i, j, f, o.

    The gates are overwritten, c [.., B, H] is updated; returns o * tanh(c), written to `raw`.
    """
    i, j, f, o = gates.chunk(4, dim=-1)
    j.mul_(2)
    gates.sigmoid_()  # of j: sigmoid(2 j), and tanh(j) = 2 sigmoid(2 j) - 1
    c.mul_(f).addcmul_(i, j, value=2).sub_(i).clamp_(-clip, clip)
    return torch.mul(c, 2, out=raw).sigmoid_().mul_(2).sub_(1).mul_(o)


def run(
    inputs: Tensor,
    weight: Tensor,
    projection: Tensor,
    state: tuple[Tensor, Tensor],
    *,
    outputs: Tensor,
    sizes: list[int],
    clips: tuple[float, float],
) -> None:
    """The input's share of the gates 2TB(4H), recurrent weight 2P(4H), projection 2HP -> outputs 2TBP.

    Rows are sorted by falling length, `sizes[t]` of them have a word at step t; outputs after a row's end are not
    written. The state (h 2BP, c 2BH, float32) is updated in place; a row's last state is that at its end.
    """
    raw = torch.empty_like(state[1])
    for alive, steps in groupby(range(len(sizes)), key=sizes.__getitem__):
        h, c, o_tanh_c = state[0][:, :alive], state[1][:, :alive], raw[:, :alive]
        for t in steps:
            gates = torch.baddbmm(inputs[:, t, :alive], h.to(weight.dtype), weight).float()
            projected = torch.bmm(advance(gates, c, o_tanh_c, clips[0]).to(weight.dtype), projection)
            h.copy_(torch.clamp(projected, -clips[1], clips[1], out=outputs[:, t, :alive]))


@fused
def _cell(gates: Tensor, bias: Tensor, c: Tensor, keep: Tensor, clip: float, raw: Tensor) -> Tensor:  # noqa: PLR0917
    """Products 2B(4H) in the order i, j, f, o, bias 2·(4H), c 2BH -> the next c; the gates become their activations.

    o * tanh(c) is written to `raw` 2BH. `keep` 2B1 of 0 and 1 resets c before the step. c and all arithmetic are
    float32.
    """
    i, j, f, o = (gates.float() + bias).chunk(4, dim=2)
    i, j, f, o = torch.sigmoid(i), tanh(j), torch.sigmoid(f), torch.sigmoid(o)
    c = (f * (c * keep) + i * j).clamp(-clip, clip)
    gates.copy_(torch.cat([i, j, f, o], dim=2))
    raw.copy_(o * tanh(c))
    return c


@fused
def _cell_backward(  # noqa: PLR0917
    d_raw: Tensor, d_c: Tensor, gates: Tensor, before: Tensor, c: Tensor, keep: Tensor, clip: float
) -> Tensor:
    """Gradients of o * tanh(c) 2BH and of c 2BH (from the next step) -> the gradient of the last c.

    `gates` are overwritten with their gradients.
    """
    i, j, f, o = gates.float().chunk(4, dim=2)
    d_raw, tanh_c = d_raw.float(), tanh(c)
    d_c = torch.where(c.abs() < clip, d_c + d_raw * o * (1 - tanh_c * tanh_c), 0.0)
    d_i, d_j, d_f = d_c * j * i * (1 - i), d_c * i * (1 - j * j), d_c * (before * keep) * f * (1 - f)
    d_before = d_c * f * keep
    gates.copy_(torch.cat([d_i, d_j, d_f, d_raw * tanh_c * o * (1 - o)], dim=2))  # f was a view of them until here
    return d_before


class Recurrence(torch.autograd.Function):
    """`run`, differentiable: x 2TBP, weight 2(2P)(4H), bias 2(4H), projection 2HP -> outputs 2TBP and the last states.

    A row's state is not updated after its end; outputs there have no meaning and must get no gradient. `keep` [2, T, B]
    of 0 and 1 resets a row's state before a step (None: never).

    Products have the type of x (bf16 under autocast), states and gates are float32. No gradient flows into the first
    state (truncated back-propagation through time).
    """

    @staticmethod
    def forward(ctx, x, weight, bias, projection, h, c, keep, sizes, cell_clip, projection_clip):  # noqa: PLR0917
        kind, (_, steps, rows, features) = x.dtype, x.shape
        weight, projection = weight.to(kind), projection.to(kind)
        bias = bias[:, None].float()
        keep = (x.new_ones(2, steps, rows) if keep is None else keep)[:, :, :, None].float()  # 2TB1
        both = x.new_empty(2, steps, rows, 2 * features)  # the input, and h before the step
        both[..., :features] = x
        gates, raw = x.new_empty(2, steps, rows, weight.shape[2]), x.new_empty(2, steps, rows, projection.shape[1])
        cells, h, y = [c], h.to(kind), torch.empty_like(x)
        for t in range(steps):
            torch.mul(h, keep[:, t].to(kind), out=both[:, t, :, features:])
            torch.bmm(both[:, t], weight, out=gates[:, t])
            after = _cell(gates[:, t], bias, c, keep[:, t], cell_clip, raw[:, t])
            after_h = torch.bmm(raw[:, t], projection).clamp_(-projection_clip, projection_clip)
            y[:, t] = after_h
            if (alive := sizes[t]) < rows:
                after_h = torch.cat([after_h[:, :alive], h[:, alive:]], dim=1)
                after = torch.cat([after[:, :alive], c[:, alive:]], dim=1)
            h, c = after_h, after
            cells.append(c)
        ctx.gates, ctx.cells, ctx.clips = gates, cells, (cell_clip, projection_clip)
        ctx.save_for_backward(weight, projection, both, raw, y, keep)
        return y, h.float(), c

    @staticmethod
    def backward(ctx, d_y, _d_h, _d_c):
        weight, projection, both, raw, y, keep = ctx.saved_tensors
        weight_t, projection_t = weight.transpose(1, 2), projection.transpose(1, 2)
        cell_clip, projection_clip = ctx.clips
        features = y.shape[3]
        d_projected = d_y * (y.abs() < projection_clip)  # 2TBP; the share of h is added below
        d_h, d_c, d_x = None, torch.zeros_like(ctx.cells[0]), torch.empty_like(y)
        for t in range(y.shape[1] - 1, -1, -1):
            if d_h is not None:
                d_projected[:, t] += d_h * (y[:, t].abs() < projection_clip)
            d_raw = torch.bmm(d_projected[:, t], projection_t)  # 2BH
            gates = ctx.gates[:, t]
            d_c = _cell_backward(d_raw, d_c, gates, ctx.cells[t], ctx.cells[t + 1], keep[:, t], cell_clip)
            d_both = torch.bmm(gates, weight_t)
            d_x[:, t], d_h = d_both[..., :features], d_both[..., features:] * keep[:, t].to(d_both.dtype)
        d_gates = ctx.gates.flatten(1, 2)
        d_weight = torch.bmm(both.flatten(1, 2).transpose(1, 2), d_gates).float()
        d_projection = torch.bmm(raw.flatten(1, 2).transpose(1, 2), d_projected.flatten(1, 2)).float()
        ctx.gates = ctx.cells = None  # overwritten: a second backward pass would be wrong
        return d_x, d_weight, d_gates.sum(dim=1).float(), d_projection, *(None,) * 6
