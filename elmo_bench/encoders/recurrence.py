"""The time loop of a projected LSTM with clips, both directions at once: in place, or with its own backward pass.

The equations are those of TensorFlow's LSTMCell as bilm-tf uses it (facts sheet 2.3), with the 1 of the forget gate in
the inputs already. The backward pass is written out
because autograd would form every weight gradient once a step; here each is one product over all steps.
"""

from itertools import groupby

import torch
from torch import Tensor


def tanh(x: Tensor) -> Tensor:
    """tanh through the sigmoid, which PyTorch vectorises on CPUs: several times faster there, and within 1e-7."""
    return torch.sigmoid(2 * x).mul_(2).sub_(1)


def _cell(gates: Tensor, c: Tensor, clip: float) -> tuple[Tensor, ...]:
    """Pre-activations 2B(4H) in the order i, j, f, o and c 2BH -> i, j, f, o, the clipped c and its tanh."""
    i, j, f, o = gates.float().chunk(4, dim=2)
    i, j, f, o = torch.sigmoid(i), tanh(j), torch.sigmoid(f), torch.sigmoid(o)
    c = torch.addcmul(f * c, i, j).clamp_(-clip, clip)
    return i, j, f, o, c, tanh(c)


def advance(gates: Tensor, c: Tensor, raw: Tensor, clip: float) -> Tensor:
    """A step without gradients, in place: gates [.., B, 4H] in the order i, j, f, o.

    They are written over, c [.., B, H] is updated; returns o * tanh(c), written to `raw`.
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
    """Input part of the gates 2TB(4H), recurrent weight 2P(4H), projection 2HP -> outputs 2TBP.

    Rows stand by falling length, `sizes[t]` of them alive at step t; the outputs behind a row's end are left as they
    are. The state (h 2BP, c 2BH, float32) is updated in place, each row's to the one at its end.
    """
    raw = torch.empty_like(state[1])
    for alive, steps in groupby(range(len(sizes)), key=sizes.__getitem__):
        h, c, o_tanh_c = state[0][:, :alive], state[1][:, :alive], raw[:, :alive]
        for t in steps:
            gates = torch.baddbmm(inputs[:, t, :alive], h.to(weight.dtype), weight).float()
            projected = torch.bmm(advance(gates, c, o_tanh_c, clips[0]).to(weight.dtype), projection)
            h.copy_(torch.clamp(projected, -clips[1], clips[1], out=outputs[:, t, :alive]))


class Recurrence(torch.autograd.Function):
    """The same, differentiable: -> outputs 2TBP and the last states.

    A row's state stays as it was at its end; outputs behind it mean nothing, and no gradient may come back from there.
    `keep` [T, B] of 0 and 1 resets a row's state before a step.

    Products follow autocast (bf16), states and gates are float32. No gradient flows into the first state
    (truncated back-propagation through time).
    """

    @staticmethod
    def forward(ctx, inputs, weight, projection, h, c, keep, sizes, cell_clip, projection_clip):  # noqa: PLR0917
        kind = inputs.dtype
        weight, projection = weight.to(kind), projection.to(kind)
        steps = []
        outputs = []
        for t, gate_inputs in enumerate(inputs.unbind(1)):
            if keep is not None:
                mask = keep[t, :, None]
                h, c = h * mask, c * mask
            h = h.to(kind)
            before = (h, c)
            i, j, f, o, c, tanh_c = _cell(torch.baddbmm(gate_inputs, h, weight), c, cell_clip)
            raw = (o * tanh_c).to(kind)
            h = torch.bmm(raw, projection).clamp_(-projection_clip, projection_clip)
            outputs.append(h)
            steps.append((*before, i, j, f, o, c, tanh_c, raw, h))
            alive = sizes[t]
            if alive < h.shape[1]:
                h = torch.cat([h[:, :alive], before[0][:, alive:]], dim=1)
                c = torch.cat([c[:, :alive], before[1][:, alive:]], dim=1)
        ctx.steps, ctx.keep, ctx.clips = steps, keep, (cell_clip, projection_clip)
        ctx.save_for_backward(weight, projection)
        return torch.stack(outputs, dim=1), h.float(), c

    @staticmethod
    def backward(ctx, d_outputs, _d_h, _d_c):
        weight, projection = ctx.saved_tensors
        weight_t, projection_t = weight.transpose(1, 2), projection.transpose(1, 2)
        cell_clip, projection_clip = ctx.clips
        d_gates_all, d_projected_all = [], []
        d_h, d_c = None, None
        for t in range(len(ctx.steps) - 1, -1, -1):
            _, c_before, i, j, f, o, c, tanh_c, _, h = ctx.steps[t]
            d_h = d_outputs[:, t] if d_h is None else d_outputs[:, t] + d_h
            d_projected = torch.where(h.abs() < projection_clip, d_h, 0)  # 2BP
            d_raw = torch.bmm(d_projected, projection_t).float()  # 2BH
            through = d_raw * o * (1 - tanh_c.square())
            d_c = through if d_c is None else through + d_c
            d_c = torch.where(c.abs() < cell_clip, d_c, 0)
            d_gates = torch.cat(
                [
                    d_c * j * i * (1 - i),
                    d_c * i * (1 - j.square()),
                    d_c * c_before * f * (1 - f),
                    d_raw * tanh_c * o * (1 - o),
                ],
                dim=2,
            ).to(weight.dtype)  # 2B(4H)
            d_h, d_c = torch.bmm(d_gates, weight_t), d_c * f
            if ctx.keep is not None:
                mask = ctx.keep[t, :, None]
                d_h, d_c = d_h * mask.to(d_h.dtype), d_c * mask
            d_gates_all.append(d_gates)
            d_projected_all.append(d_projected)
        d_inputs = torch.stack(d_gates_all[::-1], dim=1)  # 2TB(4H)
        d_projected = torch.stack(d_projected_all[::-1], dim=1).flatten(1, 2)
        h_before = torch.stack([step[0] for step in ctx.steps], dim=1).flatten(1, 2)  # 2(TB)P
        raw = torch.stack([step[8] for step in ctx.steps], dim=1).flatten(1, 2)
        d_weight = torch.bmm(h_before.transpose(1, 2), d_inputs.flatten(1, 2))
        d_projection = torch.bmm(raw.transpose(1, 2), d_projected)
        ctx.steps = None
        return d_inputs, d_weight.float(), d_projection.float(), *(None,) * 6
