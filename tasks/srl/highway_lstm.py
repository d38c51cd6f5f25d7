"""LSTM layers with highway connections whose directions alternate (He et al. 2017).

g = tanh(W x + U h + b)    i, f, o, r = σ(W x + U h + b)    c = f ∘ c' + i ∘ g
h = r ∘ o ∘ tanh(c) + (1 - r) ∘ V x
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.compiled import Loops, loops
from elmo_bench.nn.dropout import dropout_mask
from elmo_bench.nn.recurrence import Lstm, recur, slope_

BLOCKS = 5  # gates, in the order g, i, f, o, r; the input weights have V as a sixth block
IN_C = Path(__file__).with_name("highway_lstm.c")  # twice as fast as the same loops in torch (benchmarks/README.md)


class HighwayCell(Lstm):
    """The equations above. Blocks: g, i, f, o, r, V x. `keep` is of the new h, wherever it is read."""

    gates, scales = BLOCKS, (2.0, 1.0, 1.0, 1.0, 1.0, 0.5)

    def __init__(self, blocks: Tensor, first: Tensor, keep: Tensor | None):
        super().__init__(blocks, first, None)
        self.kept = keep

    def output(self, s: Tensor, *blocks: Tensor, out: Tensor) -> Tensor:
        *_, o, r, v = blocks
        h = torch.lerp(v, torch.mul(o, s, out=out), r, out=out)
        return h if self.kept is None else h.mul_(self.kept)

    def slopes(self, c: Tensor, s: Tensor, *blocks: Tensor) -> tuple[Tensor, Tensor]:
        *lstm, r, v = blocks
        d_r = (lstm[3] * s).sub_(v)
        to_c, through = super().slopes(c, s, *lstm)
        kept, most = (r, 1) if self.kept is None else (r * self.kept, self.kept)
        to_c.mul_(kept), lstm[3].mul_(kept)
        v.copy_(most - kept)
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
        for block in (*self.input_weight.data.split(hidden), *self.recurrent.data.split(hidden)):
            nn.init.orthogonal_(block)
        self.bias.data[2 * hidden : 3 * hidden] = 1  # f

    def forward(self, x: Tensor, mask: Tensor, keep: Tensor | None = None) -> Tensor:
        """x [B, T, D], mask bool [B, T]; padded positions come out as zeros. keep [B, 1, H] multiplies every h."""
        bias = functional.pad(self.bias, (0, self.recurrent.shape[1]))
        if (run := loops(IN_C, self.recurrent)) is not None:
            with torch.autocast("cpu", enabled=False):
                x = x.to(self.recurrent.dtype)
                return _Compiled.apply(run, x, mask, self.input_weight, bias, self.recurrent, keep, self.backwards)
        return recur(
            HighwayCell,
            x,
            mask,
            weight=self.input_weight,
            bias=bias,
            recurrent=self.recurrent[None],
            backwards=[self.backwards],
            keep=keep,
        )


class _Compiled(torch.autograd.Function):
    """A layer whose loops over time are C, in float32 or float64 on a CPU; the arguments are as `recur`'s."""

    @staticmethod
    def forward(ctx: Any, run: Loops, x, mask, weight, bias, recurrent, keep, backwards):  # noqa: PLR0917
        sizes, lengths = (*mask.shape, recurrent.shape[1]), mask.sum(dim=1)  # (B, T, H), B
        blocks = torch.addmm(bias, x.flatten(0, 1), weight.T)  # (BT)(6H)
        before, y = x.new_zeros(2, *sizes)  # BTH; what a step reads
        c, s = x.new_empty(2, *sizes)  # BTH; s is tanh(c)
        run("forward", sizes, lengths, backwards, recurrent.T.contiguous(), keep, blocks, before, c, s, y)
        ctx.save_for_backward(x, lengths, weight, recurrent, keep)
        ctx.run, ctx.backwards, ctx.states = run, backwards, (blocks, before, c, s)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        (x, lengths, weight, recurrent, keep), (blocks, before, c, s) = ctx.saved_tensors, ctx.states
        ctx.states = None  # overwritten: a second backward pass would be wrong
        arrays = recurrent.contiguous(), keep, blocks, c, s, gradients[0].contiguous()
        ctx.run("backward", c.shape, lengths, ctx.backwards, *arrays)
        gates = len(recurrent)
        d_x, d_weight = blocks @ weight, blocks.T @ x.flatten(0, 1)
        d_recurrent = blocks[:, :gates].T @ before.flatten(0, 1)
        return None, d_x.view_as(x), None, d_weight, blocks.sum(dim=0), d_recurrent, None, None


class AlternatingLstm(nn.Module):
    """A layer for each size in `hidden`, alternately forward and backward: [B, T, D] -> [B, T, hidden[-1]].

    Variational dropout applies to the new h, before the next step and the next layer read it (He et al. 2017).
    """

    def __init__(self, dim: int, hidden: Sequence[int], *, dropout: float):
        super().__init__()
        sizes = [dim, *hidden]
        self.layers = nn.ModuleList(
            HighwayLstm(sizes[layer], units, backwards=layer % 2 == 1) for layer, units in enumerate(hidden)
        )
        self.hidden, self.dim, self.dropout = list(hidden), sizes[-1], dropout

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [B, T, D], mask bool [B, T]; padded positions come out as zeros."""
        keep: Sequence[Tensor | None] = [None] * len(self.layers)
        if self.training and self.dropout:  # all layers at once: a draw of so few numbers is mostly overhead
            drawn = dropout_mask([len(x) * sum(self.hidden)], self.dropout, next(self.parameters()))
            parts = drawn.split([len(x) * units for units in self.hidden])
            keep = [part.view(len(x), 1, -1) for part in parts]
        for layer, each in zip(self.layers, keep, strict=True):
            x = layer(x, mask, each)
        return x
