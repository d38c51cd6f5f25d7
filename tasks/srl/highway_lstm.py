"""LSTM layers with highway connections whose directions alternate (He et al. 2017).

g = tanh(W x + U h + b)    i, f, o, r = σ(W x + U h + b)    c = f ∘ c' + i ∘ g
h = r ∘ o ∘ tanh(c) + (1 - r) ∘ V x
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from elmo_bench.nn.cells import Lstm, check_first_pass, slope_
from elmo_bench.nn.compiled import Loops, loops
from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.nn.recurrence import recur

# Gates, in the order g, i, f, o, r; the input weights have V as a sixth block.
BLOCKS = 5
# Twice as fast as the same loops in torch (benchmarks/README.md).
IN_C = Path(__file__).with_name("highway_lstm.c")


class HighwayCell(Lstm):
    """The equations above.

    Blocks: g, i, f, o, r, V x. `keep` is of the new h, wherever it is read.
    """

    gates = BLOCKS
    scales = (2.0, 1.0, 1.0, 1.0, 1.0, 0.5)

    def __init__(self, blocks: Tensor, first: Tensor, keep: Tensor | None):
        super().__init__(blocks, first, None)
        self.keep_new = keep

    def output(self, s: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        *_, o, r, v = blocks
        h = torch.lerp(v, torch.mul(o, s, out=out), r, out=out)
        return h if self.keep_new is None else h.mul_(self.keep_new)

    def slopes(self, c: Tensor, s: Tensor, *blocks: Tensor) -> tuple[Tensor, Tensor]:
        *lstm, r, v = blocks
        d_r = (lstm[3] * s).sub_(v)
        to_c, through = super().slopes(c, s, *lstm)
        most: Tensor | float = 1
        share = r
        if self.keep_new is not None:
            most = self.keep_new
            share = r * most
        to_c.mul_(share)
        lstm[3].mul_(share)
        v.copy_(most - share)
        slope_(r).mul_(d_r).mul_(most)
        return to_c, through


class HighwayLstm(nn.Module):
    """One layer in one direction that never reads padding: [B, T, D] -> [B, T, H]."""

    def __init__(self, dim: int, hidden: int, *, backwards: bool):
        super().__init__()
        self.backwards = backwards
        self.input_weight = nn.Parameter(torch.empty((BLOCKS + 1) * hidden, dim))
        self.recurrent = nn.Parameter(torch.empty(BLOCKS * hidden, hidden))
        self.bias = nn.Parameter(torch.zeros(BLOCKS * hidden))
        for weight in (self.input_weight, self.recurrent):
            for block in weight.data.split(hidden):
                nn.init.orthogonal_(block)
        self.bias.data[2 * hidden : 3 * hidden] = 1  # f

    def forward(self, x: Tensor, mask: Tensor, keep: Tensor | None = None) -> Tensor:
        """x [B, T, D], mask bool [B, T]; padded positions come out as zeros.

        keep [B, 1, H] multiplies every h.
        """
        recurrent = self.recurrent
        bias = functional.pad(self.bias, (0, recurrent.shape[1]))
        run = loops(IN_C, recurrent)
        if run is None:
            return recur(
                HighwayCell,
                x,
                mask,
                weight=self.input_weight,
                bias=bias,
                recurrent=recurrent[None],
                backwards=[self.backwards],
                keep=keep,
                layer=self,
            )
        weights = (self.input_weight, bias, recurrent)
        with torch.autocast("cpu", enabled=False):
            x = x.to(recurrent.dtype)
            return _Compiled.apply(run, x, mask, *weights, keep, self.backwards)


class _Compiled(torch.autograd.Function):
    """A layer whose loops over time are C, in float32 or float64 on a CPU.

    The arguments are as `recur`'s.
    """

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any, run: Loops, x, mask, weight, bias, recurrent, keep, backwards
    ):
        sizes = (*mask.shape, recurrent.shape[1])  # (B, T, H)
        lengths = mask.sum(dim=1)  # B
        blocks = torch.addmm(bias, x.flatten(0, 1), weight.T)  # (BT)(6H)
        before, y = x.new_zeros(2, *sizes)  # BTH; `before` is what a step reads
        c, s = x.new_empty(2, *sizes)  # BTH; s is tanh(c)
        arrays = (recurrent.T.contiguous(), keep, blocks, before, c, s, y)
        run("forward", sizes, lengths, backwards, *arrays)
        ctx.save_for_backward(x, lengths, weight, recurrent, keep)
        ctx.run = run
        ctx.backwards = backwards
        ctx.states = (blocks, before, c, s)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor):
        x, lengths, weight, recurrent, keep = ctx.saved_tensors
        check_first_pass(ctx.states)
        blocks, before, c, s = ctx.states
        ctx.states = None  # overwritten: a second backward pass would be wrong
        d_y = gradients[0].contiguous()
        arrays = (recurrent.contiguous(), keep, blocks, c, s, d_y)
        ctx.run("backward", c.shape, lengths, ctx.backwards, *arrays)
        gates = len(recurrent)
        d_x = (blocks @ weight).view_as(x)
        d_weight = blocks.T @ x.flatten(0, 1)
        d_recurrent = blocks[:, :gates].T @ before.flatten(0, 1)
        d_bias = blocks.sum(dim=0)
        return None, d_x, None, d_weight, d_bias, d_recurrent, None, None


class AlternatingLstm(nn.Module):
    """Layers, alternately forward and backward: [B, T, D] -> [B, T, hidden[-1]].

    There is a layer for each size in `hidden`. Variational dropout applies to the new
    h, before the next step and the next layer read it (He et al. 2017).
    """

    def __init__(self, dim: int, hidden: Sequence[int], *, dropout: float):
        super().__init__()
        sizes = [dim, *hidden]
        self.layers = nn.ModuleList(
            HighwayLstm(sizes[layer], units, backwards=layer % 2 == 1)
            for layer, units in enumerate(hidden)
        )
        self.hidden = list(hidden)
        self.dim = sizes[-1]
        self.dropout = dropout

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask bool [B, T]; padded positions come out as zeros."""
        masks: Sequence[Tensor | None] = [None] * len(self.layers)
        if self.training and self.dropout:
            # All layers at once: a draw of so few numbers is mostly overhead.
            rows = len(x)
            like = next(self.parameters())
            drawn = dropout_mask([rows * sum(self.hidden)], self.dropout, like)
            parts = drawn.split([rows * units for units in self.hidden])
            masks = [part.view(rows, 1, -1) for part in parts]
        for layer, keep in zip(self.layers, masks, strict=True):
            x = layer(x, mask, keep)
        return x
