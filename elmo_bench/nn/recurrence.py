"""The time loop of the heads' recurrent layers: all directions at once.

The gradient of a weight is one product over all steps, and the steps themselves are in
`cells.py`. On a GPU they run at fixed addresses, as CUDA graphs (`fixed_cells.py`).

Shape letters: B batch, T steps, D input size, N directions, G blocks (the gates, and
what else comes from the input), H units, F any number of features.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmo_bench.nn.cells import Lstm, check_first_pass
from elmo_bench.nn.fixed_cells import FixedCell, FixedCells, fixed_cells_of


def recur(
    kind: type[Lstm],
    x: Tensor,
    mask: Tensor,
    *,
    weight: Tensor,
    bias: Tensor,
    recurrent: Tensor,
    backwards: Sequence[bool],
    first: Tensor | None = None,
    keep: Tensor | None = None,
    layer: nn.Module | None = None,
) -> Tensor:
    """Run the cells of a layer over padded sequences: x [B, T, D] -> h [B, T, N H].

    h has the type of the weights.

    mask bool BT, padding last; h is zero there, and the padding of `x` changes nothing.
    backwards: for each direction, whether it reads a sequence from its end.
    weight (N G H)D; bias (N G H); recurrent N(gates H)H.
    first: h and c before the first step, 2NH; zeros by default.
    keep BNH: in training, the mask of h.
    layer: whose loops these are; on a GPU they are replayed (`fixed_cells.py`).
    """
    fixed = None if layer is None else fixed_cells_of(layer, x.device)
    if first is None:
        first = recurrent.new_zeros(2, len(backwards), recurrent.shape[2])
    by_step, by_token = _orders(mask, backwards)
    with torch.autocast(mask.device.type, enabled=False):
        x = x.to(recurrent.dtype)
        numbers = (weight, bias, recurrent, first)
        learns = torch.is_grad_enabled()
        return _Recurrence.apply(
            kind, fixed, learns, x, mask, by_step, by_token, *numbers, keep
        )


def _orders(mask: Tensor, backwards: Sequence[bool]) -> tuple[Tensor, Tensor]:
    """The row of B T N of each step, TNB, and the row of T N B of each token, BTN."""
    batch, length = mask.shape
    directions = len(backwards)
    device = mask.device
    steps = torch.arange(length, device=device)
    rows = torch.arange(batch, device=device)[:, None, None]
    ways = torch.arange(directions, device=device)
    last = mask.sum(dim=1, keepdim=True) - 1
    mirror = torch.where(mask, last - steps, steps)  # BT
    forward = steps.expand_as(mirror)
    tokens = [mirror if back else forward for back in backwards]
    token = torch.stack(tokens, dim=2)  # BTN; the step of a token is the same number
    by_token = (token * directions + ways) * batch + rows
    by_step = (rows * length + token) * directions + ways
    return by_step.permute(1, 2, 0), by_token


class _Recurrence(torch.autograd.Function):
    """by_step, by_token: see `_orders`; the other arguments are as of `recur`."""

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any,
        kind,
        fixed: FixedCells | None,
        learns: bool,
        x,
        mask,
        by_step,
        by_token,
        weight,
        bias,
        recurrent,
        first,
        keep,
    ):
        _, directions, batch = by_step.shape
        hidden = recurrent.shape[2]
        gates = kind.gates * hidden
        scale = x.new_tensor(kind.scales).repeat_interleave(hidden)  # (GH)
        inner = 2 * scale[:gates, None] * recurrent  # N(gates H)H: of ĥ
        bias = bias.view(directions, -1) * scale
        outer = scale.repeat(directions)[:, None] * weight  # (N G H)D
        read = x.flatten(0, 1)
        if directions == 1:  # fewer numbers to move before the product than after it
            read = _choose(read, by_step).flatten(0, 2)
            blocks = torch.addmm(bias.flatten(), read, outer.T)
            blocks = blocks.view(*by_step.shape, -1)
        else:
            blocks = torch.addmm(bias.flatten(), read, outer.T)
            blocks = _choose(blocks.view(by_step.numel(), -1), by_step)
        first = torch.stack([first[0] / 2, 2 * first[1]])
        first = first[:, :, None].expand(-1, -1, batch, -1)
        if keep is not None:
            keep = keep.transpose(0, 1).contiguous()
        loop: Lstm | FixedCell | None = None
        if fixed is not None:
            learns = learns and any(ctx.needs_input_grad)
            loop = fixed.take(kind, blocks, first, keep, learns=learns)
        if loop is None:
            loop = kind(blocks, first, keep)
        with torch.inference_mode():  # a tenth faster: no views are tracked
            loop.forward(inner.mT.contiguous())
        ctx.loop = loop
        ctx.save_for_backward(mask, by_step, by_token, read, outer, inner, scale)
        y = _choose(loop.h[1:].flatten(0, 2), by_token).flatten(2)
        return y.mul_(2).masked_fill_(~mask[:, :, None], 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor):
        mask, by_step, by_token, read, outer, inner, scale = ctx.saved_tensors
        loop = ctx.loop
        check_first_pass(loop)
        ctx.loop = None  # overwritten: a second backward pass would be wrong
        directions = by_step.shape[1]
        hidden = inner.shape[2]
        gates = inner.shape[1]
        d_y = gradients[0].masked_fill(~mask[:, :, None], 0).mul_(2)
        d_h = torch.empty_like(loop.h)
        d_h[0] = 0
        d_h[1:] = _choose(d_y.view(-1, hidden), by_step)
        with torch.inference_mode():
            d_first = loop.backward(inner, d_h)
        d_first = d_first.sum(dim=2)
        d_blocks = loop.blocks.flatten(3)  # TNB(GH)
        h = loop.h[:-1]
        if loop.keep is not None:
            h = h * loop.keep
        d_inner = _rows(d_blocks[..., :gates]).mT @ _rows(h)  # N(gates H)H
        d_bias = d_blocks.sum(dim=(0, 2))  # N(GH)
        d_inputs = d_blocks.flatten(0, 2)
        if directions == 1:
            d_x = _choose(d_inputs @ outer, by_token)
        else:
            d_inputs = _choose(d_inputs, by_token).view(len(read), -1)
            d_x = d_inputs @ outer
        d_x = d_x.view(*mask.shape, -1)
        d_weight = d_inputs.T @ read
        d_weight.mul_(scale.repeat(directions)[:, None])
        d_bias = (d_bias * scale).flatten()
        d_recurrent = d_inner.mul_(2 * scale[:gates, None])
        d_first = torch.stack([d_first[0] / 2, 2 * d_first[1]])
        settings = (None, None, None)  # kind, fixed, learns
        d_orders = (None, None, None)  # mask, by_step, by_token
        return *settings, d_x, *d_orders, d_weight, d_bias, d_recurrent, d_first, None


def _choose(rows: Tensor, places: Tensor) -> Tensor:
    """The row [R, F] at each place: [..., F]."""
    return rows.index_select(0, places.flatten()).view(*places.shape, -1)


def _rows(x: Tensor) -> Tensor:
    """TNBF -> N(TB)F."""
    return x.transpose(0, 1).flatten(1, 2)
