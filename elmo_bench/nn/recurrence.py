"""The time loop of the heads' recurrent layers: all directions at once, with a backward pass written by hand.

Autograd would record a dozen operations a step, and compute the gradient of every weight at each of them. Here a step
is one product and a few operations in place, and the gradient of a weight is one product over all steps.

Shape letters: B batch, T steps, N directions, G blocks (the gates, and what else comes from the input), H units, F any
number of features. In the loop, features come before the batch: then each block of a step is contiguous in memory.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor


class Cell:
    """What a layer computes at each step; it overwrites the blocks, first with activations, then with gradients."""

    gates: int  # the first blocks, to which the product with h is added
    bias_alone = 0  # the first blocks, which get nothing from the input but a bias

    def __init__(self, blocks: Tensor, first: Tensor, keep: Tensor | None):
        """The input's share of the blocks TNGHB; the first h and c 2NHB; the mask of the h that a step reads, NHB."""
        self.blocks, self.keep = blocks, keep
        self.products = blocks[:, :, : self.gates].flatten(2, 3)  # TN(gates H)B
        self.h, self.c = blocks.new_empty(2, len(blocks) + 1, *first.shape[1:])  # before the first step, after each
        self.h[0], self.c[0] = first

    def forward(self, weight: Tensor) -> None:
        """Recurrent weight N(gates H)H; fills `h`."""
        raise NotImplementedError

    def backward(self, weight: Tensor, d_h: Tensor) -> Tensor:
        """The gradients of `h`, overwritten -> the gradients of the first h and c."""
        raise NotImplementedError


class Gru(Cell):
    """r, z = σ(x + U h), n = tanh(x + r ∘ (U h + b)), h' = n + z ∘ (h - n). Blocks: U h + b of n, r, z, x of n."""

    gates, bias_alone = 3, 1

    def forward(self, weight: Tensor) -> None:
        h = self.h[0]
        for product, gates, after, u, r, z, n in _steps(
            self.products, self.blocks[:, :, 1:3], self.h[1:], *self.blocks.unbind(2)
        ):
            product.baddbmm_(weight, h)
            gates.sigmoid_()
            n.addcmul_(r, u).tanh_()
            h = torch.lerp(n, h, z, out=after)

    def backward(self, weight: Tensor, d_h: Tensor) -> Tensor:
        u, r, z, n = self.blocks.unbind(2)  # TNHB
        through, slope = z.clone(), (1 - z) * (1 - n * n)
        _fill(self.blocks, slope * r, slope * u * r * (1 - r), (self.h[:-1] - n) * z * (1 - z), slope)
        weight, after = weight.mT, d_h[1:]
        for blocks, product, z_t, d, d_blocks, d_before in _steps(
            self.blocks, self.products, through, after, after.unsqueeze(2), d_h[:-1], backwards=True
        ):
            blocks.mul_(d_blocks)
            d_before.addcmul_(d, z_t).baddbmm_(weight, product)
        return torch.stack([d_h[0], torch.zeros_like(d_h[0])])


class Lstm(Cell):
    """g = tanh(x + U h), i, f, o = σ(x + U h), c' = f ∘ c + i ∘ g, h' = o ∘ tanh(c'). Blocks: g, i, f, o."""

    gates = 4
    inner = 3  # the first blocks, whose gradients come through c

    def forward(self, weight: Tensor) -> None:
        h, c, self.tanh_c = self.h[0], self.c[0], torch.empty_like(self.h[1:])
        for product, tanh, gates, tanh_c, after_c, after, *blocks in _steps(
            self.products, self.blocks[:, :, 0], self.blocks[:, :, 1 : self.gates],
            self.tanh_c, self.c[1:], self.h[1:], *self.blocks.unbind(2),
        ):  # fmt: skip
            product.baddbmm_(weight, h if self.keep is None else h * self.keep)
            tanh.tanh_()
            gates.sigmoid_()
            c = self.cell(c, *blocks, out=after_c)
            h = self.output(torch.tanh(c, out=tanh_c), *blocks, out=after)

    def backward(self, weight: Tensor, d_h: Tensor) -> Tensor:
        to_c, through, *slopes = self.slopes(self.c[:-1], self.tanh_c, *self.blocks.unbind(2))
        _fill(self.blocks, *slopes)
        d_c = torch.zeros_like(d_h[0])
        weight, after, d_c_blocks = weight.mT, d_h[1:], d_c[:, None]
        for inner, outer, product, slope, f, d, d_blocks, d_before in _steps(
            self.blocks[:, :, : self.inner], self.blocks[:, :, self.inner :], self.products,
            to_c, through, after, after.unsqueeze(2), d_h[:-1], backwards=True,
        ):  # fmt: skip
            d_c.addcmul_(d, slope)
            inner.mul_(d_c_blocks)
            outer.mul_(d_blocks)
            if self.keep is None:
                d_before.baddbmm_(weight, product)
            else:
                d_before.addcmul_(torch.bmm(weight, product), self.keep)
            d_c.mul_(f)
        return torch.stack([d_h[0], d_c])

    def cell(self, c: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        """The next c."""
        g, i, f, *_ = blocks
        return torch.mul(f, c, out=out).addcmul_(i, g)

    def output(self, tanh_c: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        """The next h."""
        return torch.mul(blocks[-1], tanh_c, out=out)

    def slopes(self, c: Tensor, tanh_c: Tensor, *blocks: Tensor) -> tuple[Tensor, ...]:
        """Of all steps, TNHB: the derivative of h' in c', of c' in c, and of c' or h' in each block."""
        g, i, f, o = blocks
        d_c = o * (1 - tanh_c * tanh_c)
        return d_c, f.clone(), i * (1 - g * g), g * i * (1 - i), c * f * (1 - f), tanh_c * o * (1 - o)


def recur(
    kind: type[Cell],
    inputs: Tensor,
    mask: Tensor,
    weight: Tensor,
    *,
    backwards: Sequence[bool],
    bias: Tensor | None = None,
    first: Tensor | None = None,
    keep: Tensor | None = None,
) -> Tensor:
    """Run the cells of a layer over padded sequences: the input's share of the blocks B T (N G H) -> h B T (N H).

    mask bool BT, padding last; h is zero there, and the padding of `inputs` changes nothing. weight N(gates H)H.
    backwards: for each direction, whether it reads a sequence from its end. bias N(blocks H): of the first blocks, if
    they get no input. first: h and c before the first step, 2NH; zeros by default. keep BNH: in training, the mask of
    the h that the next step reads.
    """
    (batch, length), directions, device = mask.shape, len(backwards), mask.device
    steps, rows, ways = (torch.arange(size, device=device) for size in (length, batch, directions))
    mirror = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - steps, steps)  # BT
    token = torch.stack([mirror if back else steps.expand_as(mirror) for back in backwards], dim=2)  # BTN, either way
    by_token = (ways * length + token) * batch + rows[:, None, None]  # BTN: rows of N T B
    by_step = ((rows[:, None, None] * length + token) * directions + ways).permute(2, 1, 0)  # NTB: rows of B T N
    if first is None:
        first = weight.new_zeros(2, directions, weight.shape[2])
    with torch.autocast(device.type, enabled=False):
        y = _Recurrence.apply(kind, inputs.to(weight.dtype), by_step, by_token, weight, bias, first, keep)
        return y.masked_fill(~mask[:, :, None], 0)


class _Recurrence(torch.autograd.Function):
    """inputs B T (N F), the row of each step NTB and of each token BTN; the others as `recur` -> h B T (N H)."""

    @staticmethod
    def forward(ctx: Any, kind, inputs, by_step, by_token, weight, bias, first, keep):  # noqa: PLR0917
        (directions, steps, batch), hidden = by_step.shape, weight.shape[2]
        read = _choose(inputs.reshape(-1, inputs.shape[2] // directions), by_step)  # NTBF
        alone = kind.bias_alone * hidden
        blocks = read.new_empty(steps, directions, alone + read.shape[3], batch)
        blocks[:, :, alone:] = read.permute(1, 0, 3, 2)
        if bias is not None:
            blocks[:, :, :alone] = bias[:, :, None]
        first = first[..., None].expand(-1, -1, -1, batch)  # 2NHB
        keep = None if keep is None else keep.permute(1, 2, 0).contiguous()
        cell = ctx.cell = kind(blocks.unflatten(2, (-1, hidden)), first, keep)
        cell.forward(weight)
        ctx.save_for_backward(by_step, by_token, weight)
        return _choose(_rows(cell.h[1:]).flatten(0, 1), by_token).flatten(2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        (by_step, by_token, weight), cell = ctx.saved_tensors, ctx.cell
        ctx.cell = None  # overwritten: a second backward pass would be wrong
        d_h = torch.zeros_like(cell.h)
        d_h[1:] = _choose(gradients[0].reshape(-1, weight.shape[2]), by_step).permute(1, 0, 3, 2)
        d_first = cell.backward(weight, d_h).sum(dim=3)
        read = cell.h[:-1] if cell.keep is None else cell.h[:-1] * cell.keep
        d_blocks, alone = _rows(cell.blocks.flatten(2, 3)), cell.bias_alone * weight.shape[2]  # N(TB)(GH)
        d_weight = d_blocks[:, :, : weight.shape[1]].mT @ _rows(read)
        d_bias = d_blocks[:, :, :alone].sum(dim=1) if alone else None
        d_inputs = _choose(d_blocks[:, :, alone:].flatten(0, 1), by_token).flatten(2)
        return None, d_inputs, None, None, d_weight, d_bias, d_first, None


def _choose(rows: Tensor, places: Tensor) -> Tensor:
    """The row [R, F] at each place: [..., F]."""
    return rows.index_select(0, places.flatten()).view(*places.shape, -1)


def _rows(x: Tensor) -> Tensor:
    """TNFB -> N(TB)F."""
    return x.permute(1, 0, 3, 2).flatten(1, 2)


def _steps(*values: Tensor, backwards: bool = False) -> Iterator[tuple[Tensor, ...]]:
    """The values of each step."""
    return zip(*(value.unbind()[:: -1 if backwards else 1] for value in values), strict=True)


def _fill(blocks: Tensor, *values: Tensor) -> None:
    """Blocks TNGHB from G values TNHB."""
    for place, value in enumerate(values):
        blocks[:, :, place] = value
