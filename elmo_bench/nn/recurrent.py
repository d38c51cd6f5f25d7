"""Bidirectional recurrent layers over padded batches."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from elmo_bench.nn.cells import check_first_pass
from elmo_bench.nn.compiled import Loops, loops

GRU_IN_C = Path(__file__).with_name("gru.c")  # see benchmarks/README.md for its speed


def reverse(x: Tensor, mask: Tensor) -> Tensor:
    """Each sequence of x [B, T, D] in reverse order, its padding unmoved.

    mask bool [B, T], padding last.
    """
    batch, length = mask.shape
    steps = torch.arange(length, device=mask.device)
    last = mask.sum(dim=1, keepdim=True) - 1
    mirror = torch.where(mask, last - steps, steps)  # BT
    starts = length * torch.arange(batch, device=mask.device)[:, None]
    return _Swapped.apply(x, (mirror + starts).flatten())


class _Swapped(torch.autograd.Function):
    """x [B, T, D] with the row of another place [BT] at each place.

    Two rows swap their places, so this is its own inverse.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        return _swap(x, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        [places] = ctx.saved_tensors
        return _swap(gradients[0], places), None


def _swap(x: Tensor, places: Tensor) -> Tensor:
    return x.flatten(0, 1).index_select(0, places).view_as(x)


class _Bidirectional(nn.Module):
    """One layer in both directions that never reads padding: [B, T, D] -> [B, T, 2H].

    The forward half of the features comes first. The backward half reads each sequence
    in reverse order, so that nothing has to be packed: on CPUs, oneDNN takes an
    unpacked sequence at once, while torch goes through a packed one step by step.
    """

    kind: type[nn.GRU | nn.LSTM]

    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.forwards = self.kind(dim, hidden, batch_first=True)
        self.backwards = self.kind(dim, hidden, batch_first=True)
        self.dim = 2 * hidden

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask bool [B, T], padding last; padded positions come out as zeros."""
        # Under autocast cuDNN takes float16, without a scaled loss, also where bfloat16
        # is asked for.
        with torch.autocast(x.device.type, enabled=False):
            x = x.to(next(self.parameters()).dtype)
            y, _ = self.forwards(x)  # BTH
            z, _ = self.backwards(reverse(x, mask))  # BTH
            z = reverse(z, mask)
        return torch.cat([y, z], dim=2) * mask[:, :, None]  # BT(2H)


class BiLstm(_Bidirectional):
    """A bidirectional LSTM layer; see `_Bidirectional`."""

    kind = nn.LSTM


class BiGru(_Bidirectional):
    """A bidirectional GRU layer; see `_Bidirectional`.

    oneDNN trains no GRU: on CPUs `gru.c` runs it, if it could be compiled.
    """

    kind = nn.GRU

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        layers: tuple[Any, ...] = (self.forwards, self.backwards)
        run = loops(GRU_IN_C, layers[0].weight_hh_l0)
        if run is None:
            return super().forward(x, mask)
        hidden = self.dim // 2
        weight = torch.cat([gru.weight_ih_l0 for gru in layers])
        # torch's order is r, z, n; the product with h needs n, r, z.
        recurrent = torch.stack(
            [gru.weight_hh_l0.roll(hidden, dims=0) for gru in layers]
        )
        inner = torch.stack([gru.bias_hh_l0.roll(hidden) for gru in layers])  # N(3H)
        outer = torch.stack([gru.bias_ih_l0 for gru in layers])  # N(3H): r, z, n
        bias = functional.pad(inner, (0, hidden)) + functional.pad(outer, (hidden, 0))
        with torch.autocast("cpu", enabled=False):
            x = x.to(recurrent.dtype)
            return _CompiledGru.apply(run, x, mask, weight, bias, recurrent)


class _CompiledGru(torch.autograd.Function):
    """Both directions of a GRU whose loops over time are C.

    x [B, T, D], mask [B, T] -> [B, T, 2H]. weight (N 3H)D reads the input; bias N(4H),
    of u, r, z, n; recurrent N(3H)H.
    """

    @staticmethod
    def forward(  # noqa: PLR0917
        ctx: Any, run: Loops, x, mask, weight, bias, recurrent
    ):
        batch, length = mask.shape
        hidden = recurrent.shape[2]
        sizes = (batch, length, hidden)
        lengths = mask.sum(dim=1)
        read = x.flatten(0, 1)  # (BT)D
        blocks = x.new_empty(batch * length, 2, 4 * hidden)  # u, r, z, n
        before, y = x.new_zeros(2, batch, length, 2 * hidden)  # before: read by a step
        outers = weight.chunk(2)
        for way in (0, 1):
            inner = recurrent[way].T.contiguous()
            blocks[:, way, :hidden] = bias[way, :hidden]
            inputs = blocks[:, way, hidden:]
            torch.addmm(bias[way, hidden:], read, outers[way].T, out=inputs)
            run("forward", sizes, lengths, way == 1, inner, blocks, before, y)
        ctx.save_for_backward(read, lengths, weight, recurrent)
        ctx.run = run
        ctx.states = (blocks, before)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor):
        read, lengths, weight, recurrent = ctx.saved_tensors
        check_first_pass(ctx.states)
        blocks, before = ctx.states
        ctx.states = None  # overwritten: a second backward pass would be wrong
        batch, length, _ = before.shape
        hidden = recurrent.shape[2]
        sizes = (batch, length, hidden)
        d_y = gradients[0].contiguous()
        d_x = torch.zeros_like(read)
        d_weight = torch.empty_like(weight)
        d_recurrent = torch.empty_like(recurrent)
        outers = weight.chunk(2)
        d_outers = d_weight.chunk(2)
        for way in (0, 1):
            inner = recurrent[way].contiguous()
            ctx.run("backward", sizes, lengths, way == 1, inner, blocks, before, d_y)
            d_products = blocks[:, way, : 3 * hidden]
            d_inputs = blocks[:, way, hidden:]
            h = before.view(-1, 2, hidden)[:, way]
            d_x.addmm_(d_inputs, outers[way])
            torch.mm(d_inputs.T, read, out=d_outers[way])
            torch.mm(d_products.T, h, out=d_recurrent[way])
        d_x = d_x.view(batch, length, -1)
        return None, d_x, None, d_weight, blocks.sum(dim=0), d_recurrent
