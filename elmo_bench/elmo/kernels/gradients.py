"""The time loop of a projected LSTM layer for training on sentences of any length.

One node of autograd for all steps: the gradient of a weight is one product over all
steps, where autograd would compute and add one for each step.

Only words are computed, no padding. They are in one row, step by step: at each step
the sentences that have a word there, the longest first.

Shape letters: N words of all sentences, T steps, B sentences, I input and P projection
(which are the same size), H cell; the leading 2 is the direction.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from elmo_bench.elmo.kernels.steps import lstm_step, lstm_step_backward
from elmo_bench.elmo.model import ProjectedLstm, State


def lstm_layer(
    lstm: ProjectedLstm, x: Tensor, state: State, sizes: Sequence[int]
) -> tuple[Tensor, State]:
    """x [2, N, I] -> outputs [2, N, P], and each sentence's state after its last word.

    sizes: how many sentences have a word at each step, N in all. The state, [2, B, P]
    and [2, B, H], is float32, before and after, and has no gradient. Products have the
    type of x, also under autocast; cells are float32. Second derivatives are an error.
    """
    weight = lstm.weight.to(x.dtype)
    projection = lstm.projection.to(x.dtype)
    bias = lstm.gate_bias().float()
    clips = (lstm.cell_clip, lstm.projection_clip)
    with torch.autocast(x.device.type, enabled=False):
        outputs, h, c = _LstmLayer.apply(
            x, weight, bias, projection, *state, sizes, clips
        )
    return outputs, (h, c)


def _steps(sizes: Sequence[int]) -> Iterator[slice]:
    """Where the words of each step are among all words."""
    for size, end in zip(sizes, accumulate(sizes), strict=True):
        yield slice(end - size, end)


class _LstmLayer(torch.autograd.Function):
    """x 2NI, weight 2(I + P)(4H), bias 2(4H), projection 2HP, h 2BP, c 2BH, sizes [T],
    clips of cell and projection -> outputs 2NP, h, c.
    """

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        x, weight, bias, projection, first_h, first_c, sizes, clips = arguments
        cell_clip, projection_clip = clips
        weight_in, weight_h = weight.split(x.shape[2], dim=1)
        gates = torch.bmm(x, weight_in)  # the inputs' share; then the activations
        raw = x.new_empty(2, x.shape[1], projection.shape[1])  # o * tanh(c)
        outputs = torch.empty_like(x)
        cells = []
        h = first_h.to(x.dtype)
        c = first_c
        last_h = first_h.clone()
        last_c = first_c.clone()
        for words, size in zip(_steps(sizes), sizes, strict=True):
            before = c[:, :size].contiguous()
            c = torch.empty_like(before)
            gates[:, words].baddbmm_(h[:, :size], weight_h)
            lstm_step(gates[:, words], bias, before, c, raw[:, words], cell_clip)
            h = outputs[:, words]
            torch.bmm(raw[:, words], projection, out=h)
            h.clamp_(-projection_clip, projection_clip)
            cells.append(c)
            last_h[:, :size] = h
            last_c[:, :size] = c
        ctx.save_for_backward(
            x, weight, projection, first_h, first_c, gates, raw, outputs, *cells
        )
        ctx.sizes = sizes
        ctx.clips = clips
        ctx.mark_non_differentiable(last_h, last_c)
        return outputs, last_h, last_c

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_outputs: Tensor, *_: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        x, weight, projection, first_h, first_c, *computed = ctx.saved_tensors
        gates, raw, outputs, *cells = computed
        sizes = ctx.sizes
        cell_clip, projection_clip = ctx.clips
        weight_in, weight_h = weight.split(x.shape[2], dim=1)
        weight_back = weight_h.mT.contiguous()
        projection_back = projection.mT.contiguous()
        d_gates = torch.empty_like(gates)
        d_products = torch.empty_like(outputs)  # of raw and the projection
        unclipped = outputs.abs() < projection_clip
        d_h = x.new_zeros(2, 0, outputs.shape[2])
        d_c = first_c.new_zeros(2, 0, raw.shape[2])
        steps = [*_steps(sizes)]
        for step in reversed(range(len(sizes))):
            words = steps[step]
            size = sizes[step]
            before = cells[step - 1] if step else first_c
            before = before[:, :size].contiguous()
            # Zeros for the sentences that end here.
            ended = (0, 0, 0, size - d_h.shape[1])
            d_c = functional.pad(d_c, ended)
            d_here = d_products[:, words]
            torch.add(d_outputs[:, words], functional.pad(d_h, ended), out=d_here)
            d_here.mul_(unclipped[:, words])
            d_raw = torch.bmm(d_here, projection_back)
            d_gates_here = d_gates[:, words]
            d_gates_here.copy_(gates[:, words])
            lstm_step_backward(d_raw, d_c, d_gates_here, before, cells[step], cell_clip)
            d_h = torch.bmm(d_gates_here, weight_back)
        h_before = [first_h[:, : sizes[0]].to(x.dtype)]  # of each step
        for words, following in zip(steps[:-1], sizes[1:], strict=True):
            h_before.append(outputs[:, words][:, :following])
        d_weight_in = torch.bmm(x.mT, d_gates)
        d_weight_h = torch.bmm(torch.cat(h_before, dim=1).mT, d_gates)
        return (
            torch.bmm(d_gates, weight_in.mT),
            torch.cat([d_weight_in, d_weight_h], dim=1),
            d_gates.sum(dim=1, dtype=torch.float32),
            torch.bmm(raw.mT, d_products),
            *[None] * 4,
        )
