"""The time loop of a projected LSTM with clips, both directions at once: without gradients, or with its own backward.

The equations are those of TensorFlow's LSTMCell as bilm-tf uses it (facts sheet 2.3). The backward pass is written out
because autograd would form every weight gradient once a step; here each is one product over all steps.
"""

import torch
from torch import Tensor
from torch.nn import functional

FORGET_BIAS = 1.0  # TensorFlow adds it at run time; it is not in the stored bias


def tanh(x: Tensor) -> Tensor:
    """tanh through the sigmoid, which PyTorch vectorises on CPUs: several times faster there, and within 1e-7."""
    return torch.sigmoid(2 * x).mul_(2).sub_(1)


def _cell(gates: Tensor, c: Tensor, clip: float) -> tuple[Tensor, ...]:
    """Pre-activations 2B(4H) in the order i, j, f, o and c 2BH -> i, j, f, o, the clipped c and its tanh."""
    i, j, f, o = gates.float().chunk(4, dim=2)
    i, j, f, o = torch.sigmoid(i), tanh(j), torch.sigmoid(f + FORGET_BIAS), torch.sigmoid(o)
    c = torch.addcmul(f * c, i, j).clamp_(-clip, clip)
    return i, j, f, o, c, tanh(c)


def run(
    inputs: Tensor,
    weight: Tensor,
    projection: Tensor,
    state: tuple[Tensor, Tensor],
    *,
    sizes: list[int],
    clips: tuple[float, float],
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Input part of the gates 2TB(4H), recurrent weight 2P(4H), projection 2HP -> outputs 2TBP and the last states.

    Rows stand by falling length, `sizes[t]` of them alive at step t; behind a row's end the output is
    zero, and its last state is the one at that end.
    """
    batch = inputs.shape[2]
    h, c = state
    outputs, ended = [], []
    for t, alive in enumerate(sizes):
        if alive < h.shape[1]:
            ended.append((h[:, alive:], c[:, alive:]))
            h, c = h[:, :alive], c[:, :alive]
        *_, o, c, tanh_c = _cell(torch.baddbmm(inputs[:, t, :alive], h.to(weight.dtype), weight), c, clips[0])
        h = torch.bmm((o * tanh_c).to(projection.dtype), projection).clamp_(-clips[1], clips[1])
        outputs.append(functional.pad(h, (0, 0, 0, batch - alive)))
    hs, cs = zip((h, c), *reversed(ended), strict=True)
    return torch.stack(outputs, dim=1), (torch.cat(hs, dim=1), torch.cat(cs, dim=1))


class Recurrence(torch.autograd.Function):
    """`run` for rows of one length, differentiable; `keep` [T, B] of 0 and 1 resets a row's state before a step.

    Products follow autocast (bf16), states and gates are float32. No gradient flows into the first state
    (truncated back-propagation through time).
    """

    @staticmethod
    def forward(ctx, inputs, weight, projection, h, c, keep, cell_clip, projection_clip):  # noqa: PLR0917  autograd's way
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
        return d_inputs, d_weight.float(), d_projection.float(), None, None, None, None, None
