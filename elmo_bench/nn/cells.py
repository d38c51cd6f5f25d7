"""The cells of the heads' recurrent layers: their steps, forward and backward.

The backward pass is written by hand. Autograd would record a dozen operations a step,
and compute the gradient of every weight at each of them. Here a step is one product and
a few operations in place.

A CPU computes σ several times faster than tanh, so cells use tanh(x) = 2σ(2x) - 1
without computing it: their states are scaled, ĥ = h / 2 and ĉ = 2c, and weights and
biases absorb the factors (`Lstm.scales`).

Shape letters: B batch, T steps, N directions, G blocks (the gates, and what else comes
from the input), H units.
"""

from collections.abc import Iterator

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
        # Made here and not in `forward`: what `backward` reads has to stay where it is
        # while other recorded loops, which share their memory, are replayed.
        self.s = torch.empty_like(self.h[1:])

    def forward(self, weight: Tensor) -> None:
        """Recurrent weight NH(gates H), scaled; fills `h`."""
        h = self.h[0]
        c = self.c[0]
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


def check_first_pass(states: object) -> None:
    """Raise RuntimeError if the states of a forward pass are None.

    A layer's backward pass overwrites them, and leaves None for the next one.
    """
    if states is None:
        raise RuntimeError(
            "a second backward pass through a recurrent layer: the first one has "
            "overwritten its states. Run the forward pass again."
        )


def _steps(*values: Tensor, backwards: bool = False) -> Iterator[tuple[Tensor, ...]]:
    """The values of each step."""
    direction = -1 if backwards else 1
    columns = [value.unbind()[::direction] for value in values]
    return zip(*columns, strict=True)
