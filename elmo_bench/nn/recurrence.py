"""The time loop of the heads' recurrent layers: all directions at once.

The backward pass is written by hand. Autograd would record a dozen operations a step,
and compute the gradient of every weight at each of them. Here a step is one product and
a few operations in place, and the gradient of a weight is one product over all steps.

A CPU computes σ several times faster than tanh, so cells use tanh(x) = 2σ(2x) - 1
without computing it: their states are scaled, ĥ = h / 2 and ĉ = 2c, and weights and
biases absorb the factors (`Lstm.scales`).

Shape letters: B batch, T steps, D input size, N directions, G blocks (the gates, and
what else comes from the input), H units, F any number of features.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor


class Lstm:
    """The steps of an LSTM, whose blocks are g, i, f, o.

    g = tanh(x + U h)    i, f, o = σ(x + U h)    c' = f ∘ c + i ∘ g    h' = o ∘ tanh(c')

    With ĝ = g / 2 and ŝ = tanh(c') / 2:

    ĝ = σ(2x + 2U h) - ½    ĉ' = f ∘ ĉ + 4i ∘ ĝ    ŝ = σ(ĉ') - ½    ĥ' = o ∘ ŝ

    It overwrites the blocks, first with activations, then with gradients. `keep` is of
    the h that the next step reads. Other cells are subclasses.
    """

    gates = 4  # the first blocks, to which the product with h is added
    scales: tuple[float, ...] = (2.0, 1.0, 1.0, 1.0)  # of what enters each block
    inner = 3  # the first blocks, whose gradients come through c

    def __init__(self, blocks: Tensor, first: Tensor, keep: Tensor | None):
        """blocks TNB(GH): the input's share, scaled; first 2NBH: ĥ and ĉ.

        keep NBH: in training, the mask of h.
        """
        steps = len(blocks)
        hidden = first.shape[3]
        self.blocks = blocks.unflatten(3, (-1, hidden))  # TNBGH
        self.products = blocks[..., : self.gates * hidden]  # TNB(gates H)
        self.keep = keep
        # Before the first step, and after each step.
        states = blocks.new_empty(2, steps + 1, *first.shape[1:])
        states[:, 0] = first
        self.h, self.c = states  # (T+1)NBH

    def forward(self, weight: Tensor) -> None:
        """Recurrent weight NH(gates H), scaled; fills `h`."""
        h = self.h[0]
        c = self.c[0]
        self.s = torch.empty_like(self.h[1:])
        half = h.new_full((1, 1, 1), 0.5)  # a number would be made a tensor each step
        blocks_of_steps = self.blocks.unbind(3)
        steps = _steps(self.products, self.s, self.c[1:], self.h[1:], *blocks_of_steps)
        for product, s, after_c, after, *blocks in steps:
            read = h if self.keep is None else h * self.keep
            product.baddbmm_(read, weight).sigmoid_()
            blocks[0].sub_(half)
            c = self.cell(c, *blocks, out=after_c)
            torch.sigmoid(c, out=s).sub_(half)
            h = self.output(s, *blocks, out=after)

    def backward(self, weight: Tensor, d_h: Tensor) -> Tensor:
        """Weight N(gates H)H; overwrites the gradients `d_h` of `h`.

        Returns the gradients of the first ĥ and ĉ, 2NBH.
        """
        to_c, through = self.slopes(self.c[:-1], self.s, *self.blocks.unbind(3))
        after = d_h[1:]
        d_c = torch.zeros_like(d_h[0])
        d_c_blocks = d_c[:, :, None]
        steps = _steps(
            self.blocks[..., : self.inner, :],
            self.blocks[..., self.inner :, :],
            self.products,
            to_c,
            through,
            after,
            after.unsqueeze(3),
            d_h[:-1],
            backwards=True,
        )
        for inner, outer, product, slope, f, d, d_blocks, d_before in steps:
            d_c.addcmul_(d, slope)
            inner.mul_(d_c_blocks)
            outer.mul_(d_blocks)
            if self.keep is None:
                d_before.baddbmm_(product, weight)
            else:
                d_before.addcmul_(torch.bmm(product, weight), self.keep)
            d_c.mul_(f)
        return torch.stack([d_h[0], d_c])

    def cell(self, c: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        """The next ĉ."""
        g, i, f, *_ = blocks
        return torch.mul(f, c, out=out).addcmul_(i, g, value=4)

    def output(self, s: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        """The next ĥ."""
        return torch.mul(blocks[-1], s, out=out)

    def slopes(self, c: Tensor, s: Tensor, *blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Slopes of ĥ' in ĉ' and of ĉ' in ĉ at all steps, TNBH.

        Overwrites the blocks with the slopes in them.
        """
        g, i, f, o = blocks
        through = f.clone()
        to_c = o * (0.25 - s * s)
        d_i = 4 * g
        slope_(f).mul_(c)
        slope_(o).mul_(s)
        torch.addcmul(i, d_i * g, i, value=-1, out=g)
        slope_(i).mul_(d_i)
        return to_c, through


def slope_(y: Tensor) -> Tensor:
    """The derivative of σ where it is y, y (1 - y), in place."""
    return y.addcmul_(y, y, value=-1)


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
) -> Tensor:
    """Run the cells of a layer over padded sequences: x [B, T, D] -> h [B, T, N H].

    h has the type of the weights.

    mask bool BT, padding last; h is zero there, and the padding of `x` changes nothing.
    backwards: for each direction, whether it reads a sequence from its end.
    weight (N G H)D; bias (N G H); recurrent N(gates H)H.
    first: h and c before the first step, 2NH; zeros by default.
    keep BNH: in training, the mask of h.
    """
    if first is None:
        first = recurrent.new_zeros(2, len(backwards), recurrent.shape[2])
    by_step, by_token = _orders(mask, backwards)
    with torch.autocast(mask.device.type, enabled=False):
        x = x.to(recurrent.dtype)
        return _Recurrence.apply(
            kind, x, mask, by_step, by_token, weight, bias, recurrent, first, keep
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
        cell = kind(blocks, first, keep)
        with torch.inference_mode():  # a tenth faster: no views are tracked
            cell.forward(inner.mT.contiguous())
        ctx.cell = cell
        ctx.save_for_backward(mask, by_step, by_token, read, outer, inner, scale)
        y = _choose(cell.h[1:].flatten(0, 2), by_token).flatten(2)
        return y.mul_(2).masked_fill_(~mask[:, :, None], 0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        mask, by_step, by_token, read, outer, inner, scale = ctx.saved_tensors
        cell = ctx.cell
        ctx.cell = None  # overwritten: a second backward pass would be wrong
        directions = by_step.shape[1]
        hidden = inner.shape[2]
        gates = cell.gates * hidden
        d_y = gradients[0].masked_fill(~mask[:, :, None], 0).mul_(2)
        d_h = torch.empty_like(cell.h)
        d_h[0] = 0
        d_h[1:] = _choose(d_y.view(-1, hidden), by_step)
        with torch.inference_mode():
            d_first = cell.backward(inner, d_h)
        d_first = d_first.sum(dim=2)
        d_blocks = cell.blocks.flatten(3)  # TNB(GH)
        h = cell.h[:-1]
        if cell.keep is not None:
            h = h * cell.keep
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
        d_orders = (None, None, None)  # mask, by_step, by_token
        return None, d_x, *d_orders, d_weight, d_bias, d_recurrent, d_first, None


def _choose(rows: Tensor, places: Tensor) -> Tensor:
    """The row [R, F] at each place: [..., F]."""
    return rows.index_select(0, places.flatten()).view(*places.shape, -1)


def _rows(x: Tensor) -> Tensor:
    """TNBF -> N(TB)F."""
    return x.transpose(0, 1).flatten(1, 2)


def _steps(*values: Tensor, backwards: bool = False) -> Iterator[tuple[Tensor, ...]]:
    """The values of each step."""
    direction = -1 if backwards else 1
    columns = [value.unbind()[::direction] for value in values]
    return zip(*columns, strict=True)
