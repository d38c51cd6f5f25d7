"""Bidirectional recurrent layers over padded batches."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmo_bench.nn.compiled import Loops, loops

GRU_IN_C = Path(__file__).with_name("gru.c")  # see benchmarks/README.md for its speed


def reverse(x: Tensor, mask: Tensor) -> Tensor:
    """Each sequence of x [B, T, D] in reverse order, its padding unmoved; mask bool [B, T], padding last."""
    batch, length = mask.shape
    steps = torch.arange(length, device=mask.device)
    mirror = torch.where(mask, mask.sum(dim=1, keepdim=True) - 1 - steps, steps)  # BT
    return _Swapped.apply(x, (mirror + length * torch.arange(batch, device=mask.device)[:, None]).flatten())


class _Swapped(torch.autograd.Function):
    """x [B, T, D] with its rows [BT] from other places; two rows swap their places, so this is its own inverse."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        return x.flatten(0, 1).index_select(0, places).view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0].flatten(0, 1).index_select(0, *ctx.saved_tensors).view_as(gradients[0]), None


class _Bidirectional(nn.Module):
    """One layer in both directions that never reads padding: [B, T, D] -> [B, T, 2H], forward half first.

    The backward half reads each sequence in reverse order, so that nothing has to be packed: on CPUs, oneDNN takes an
    unpacked sequence at once, while torch goes through a packed one step by step.
    """

    kind: type[nn.GRU | nn.LSTM]

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.forwards, self.backwards = (self.kind(dim, hidden, batch_first=True) for _ in range(2))
        self.dim = 2 * hidden

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask bool [B, T], padding last; padded positions come out as zeros."""
        # Under autocast cuDNN takes float16, without a scaled loss, also where bfloat16 is asked for.
        with torch.autocast(x.device.type, enabled=False):
            x = x.to(next(self.parameters()).dtype)
            y = self.forwards(x)[0]  # BTH
            z = reverse(self.backwards(reverse(x, mask))[0], mask)  # BTH
        return torch.cat([y, z], dim=2) * mask[:, :, None]  # BT(2H)


class BiLstm(_Bidirectional):
    """A bidirectional LSTM layer; see `_Bidirectional`."""

    kind = nn.LSTM


class BiGru(_Bidirectional):
    """A bidirectional GRU layer; see `_Bidirectional`. oneDNN trains no GRU: on CPUs `gru.c` runs it, if compiled."""

    kind = nn.GRU

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        layers: tuple[Any, ...] = (self.forwards, self.backwards)
        if (run := loops(GRU_IN_C, layers[0].weight_hh_l0)) is None:
            return super().forward(x, mask)
        hidden = self.dim // 2
        weight = torch.cat([gru.weight_ih_l0 for gru in layers])
        recurrent = torch.stack([gru.weight_hh_l0.roll(hidden, dims=0) for gru in layers])  # torch's order is r, z, n
        inner = torch.stack([gru.bias_hh_l0.roll(hidden) for gru in layers])  # N(3H): n, r, z
        outer = torch.stack([gru.bias_ih_l0 for gru in layers])  # N(3H): r, z, n
        bias = functional.pad(inner, (0, hidden)) + functional.pad(outer, (hidden, 0))  # N(4H)
        with torch.autocast("cpu", enabled=False):
            return _CompiledGru.apply(run, x.to(recurrent.dtype), mask, weight, bias, recurrent)


class _CompiledGru(torch.autograd.Function):
    """Both directions of a GRU whose loops over time are C: x [B, T, D], mask [B, T] -> [B, T, 2H].

    weight (N 3H)D reads the input; bias N(4H), of u, r, z, n; recurrent N(3H)H.
    """

    @staticmethod
    def forward(ctx: Any, run: Loops, x, mask, weight, bias, recurrent):  # noqa: PLR0917
        (batch, length), hidden, lengths = mask.shape, recurrent.shape[2], mask.sum(dim=1)
        read = x.flatten(0, 1)  # (BT)D
        blocks = x.new_empty(batch * length, 2, 4 * hidden)  # u, r, z, n
        before, y = x.new_zeros(2, batch, length, 2 * hidden)  # what a step reads, and what it gives
        for way, (outer, inner) in enumerate(zip(weight.chunk(2), recurrent, strict=True)):
            blocks[:, way, :hidden] = bias[way, :hidden]
            torch.addmm(bias[way, hidden:], read, outer.T, out=blocks[:, way, hidden:])
            run("forward", (batch, length, hidden), lengths, way == 1, inner.T.contiguous(), blocks, before, y)
        ctx.save_for_backward(read, lengths, weight, recurrent)
        ctx.run, ctx.states = run, (blocks, before)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        (read, lengths, weight, recurrent), (blocks, before) = ctx.saved_tensors, ctx.states
        ctx.states = None  # overwritten: a second backward pass would be wrong
        d_y, (batch, length, _), hidden = gradients[0].contiguous(), before.shape, recurrent.shape[2]
        d_x, d_weight, d_recurrent = torch.zeros_like(read), torch.empty_like(weight), torch.empty_like(recurrent)
        ways = zip(weight.chunk(2), d_weight.chunk(2), recurrent, d_recurrent, strict=True)
        for way, (outer, d_outer, inner, d_inner) in enumerate(ways):
            ctx.run("backward", (batch, length, hidden), lengths, way == 1, inner.contiguous(), blocks, before, d_y)
            d_products, d_inputs = blocks[:, way, : 3 * hidden], blocks[:, way, hidden:]
            d_x.addmm_(d_inputs, outer)
            torch.mm(d_inputs.T, read, out=d_outer)
            torch.mm(d_products.T, before.view(-1, 2, hidden)[:, way], out=d_inner)
        return None, d_x.view(batch, length, -1), None, d_weight, blocks.sum(dim=0), d_recurrent
