"""The time loop of a projected LSTM layer on buffers, and a step's backward pass.

Inference (`graphs.py`) and pretraining run the same loop. On a GPU the element-wise
work of a step is one kernel (Triton). The same in plain PyTorch runs on CPUs, and on
GPUs without Triton.

Shape letters: R rows, I what a step's gates read, P projection, H cell; a leading 2 is
the direction.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

try:
    import triton
    from triton import language as tl
except ImportError:  # CPU builds of PyTorch come without it
    triton, tl = None, SimpleNamespace(constexpr=int)

BLOCK = 1024


class LayerWeights(NamedTuple):
    """The numbers of a layer, both directions."""

    gates: Tensor  # 2I(4H)
    bias: Tensor  # 2(4H) float32, with the 1 of the forget gate
    projection: Tensor  # 2HP
    cell_clip: float
    projection_clip: float


def lstm_loop(
    weights: LayerWeights,
    *,
    read: Sequence[Tensor],
    gates: Sequence[Tensor],
    cells: Sequence[Tensor],
    raw: Sequence[Tensor],
    outputs: Sequence[Tensor],
    ends: Tensor | None = None,
) -> None:
    """The equations of the reference cell, with a buffer of each kind for each step.

    A step's gates come from `read` 2RI; its cell 2RH goes to the next of `cells`, which
    are one more than the steps; o * tanh(c) goes to `raw` 2RH, and its clipped
    projection to `outputs` 2RP. In training `read` holds the input and h. In inference,
    which has `ends` (see `lstm_step`), it is h alone, and `gates` 2R(4H) hold the
    input's share already.
    """
    share = 0 if ends is None else 1
    clip = weights.projection_clip
    for t, gate in enumerate(gates):
        gate.baddbmm_(read[t], weights.gates, beta=share)
        lstm_step(
            gate,
            weights.bias,
            cells[t],
            cells[t + 1],
            raw[t],
            weights.cell_clip,
            ends=ends,
            at=t,
        )
        torch.bmm(raw[t], weights.projection, out=outputs[t])
        outputs[t].clamp_(-clip, clip)


def lstm_step(  # noqa: PLR0917
    gates: Tensor,
    bias: Tensor,
    before: Tensor,
    after: Tensor,
    raw: Tensor,
    clip: float,
    *,
    ends: Tensor | None = None,
    at: int = 0,
) -> None:
    """The cell `before` 2RH to the next cell, in `after` 2RH.

    gates 2R(4H) are the gate inputs in the order i, j, f, o; bias 2(4H) and cells are
    float32; o * tanh(c) goes to `raw` 2RH. In training the gates become their
    activations. Inference has `ends` int32 [R]: rows that end at step `at` or before
    keep their cell, and their `raw` is zeros.
    """
    if gates.is_cuda and triton:
        rows, cell = raw.shape[1:]
        count = rows * cell
        with torch.cuda.device_of(gates):  # Triton launches on the current one
            _lstm_step[(triton.cdiv(count, BLOCK), 2)](
                gates,
                bias,
                before,
                after,
                raw,
                gates if ends is None else ends,
                at,
                count,
                gates.stride(0),
                raw.stride(0),
                clip,
                H=cell,
                BLOCK=BLOCK,
                TRAINING=ends is None,
            )
        return
    x = gates.float().add_(bias[:, None])  # `gates` itself, where it is float32
    i, j, f, o = x.chunk(4, dim=2)
    for gate in (i, f, o):
        gate.sigmoid_()
    c = torch.mul(f, before).addcmul_(i, j.tanh_()).clamp_(-clip, clip)
    raw.copy_(torch.tanh(c).mul_(o))
    if ends is None:
        gates.copy_(x)
    else:
        over = ends[: raw.shape[1], None] <= at
        c = torch.where(over, before, c)
        raw.masked_fill_(over, 0)
    after.copy_(c)


def lstm_step_backward(  # noqa: PLR0917
    d_raw: Tensor,
    d_c: Tensor,
    gates: Tensor,
    before: Tensor,
    after: Tensor,
    clip: float,
) -> None:
    """Activations 2R(4H) become gradients of the gate inputs.

    d_raw 2RH is the gradient of o * tanh(c); `d_c` 2RH float32 moves to the cell
    before.
    """
    if gates.is_cuda and triton:
        rows, cell = d_raw.shape[1:]
        count = rows * cell
        with torch.cuda.device_of(gates):  # Triton launches on the current one
            _lstm_step_backward[(triton.cdiv(count, BLOCK), 2)](
                d_raw,
                d_c,
                gates,
                before,
                after,
                count,
                gates.stride(0),
                clip,
                H=cell,
                BLOCK=BLOCK,
            )
        return
    i, j, f, o = gates.float().chunk(4, dim=2)
    d_h = d_raw.float()
    tanh_c = torch.tanh(after)
    through = d_c + d_h * o * (1 - tanh_c * tanh_c)
    d_cell = torch.where(after.abs() < clip, through, 0.0)
    # All is read before the gates are written over.
    torch.mul(d_cell, f, out=d_c)
    d_i = d_cell * j * i * (1 - i)
    d_j = d_cell * i * (1 - j * j)
    d_f = d_cell * before * f * (1 - f)
    d_o = d_h * tanh_c * o * (1 - o)
    parts = gates.chunk(4, dim=2)
    for part, gradient in zip(parts, (d_i, d_j, d_f, d_o), strict=True):
        part.copy_(gradient)


def jit(function: Any) -> Any:
    """Compile a kernel with Triton, where it is installed.

    Steps of a loop share a kernel, whatever their number.
    """
    if triton is None:
        return function
    return triton.jit(function, do_not_specialize=["at"])


@jit
def _lstm_step(  # noqa: PLR0917
    gates, bias, before, after, raw, ends, at, count, gate_stride, raw_stride, clip,
    H: tl.constexpr, BLOCK: tl.constexpr, TRAINING: tl.constexpr,
):  # fmt: skip
    side = tl.program_id(1)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    column = place % H
    gate = gates + side * gate_stride + (place // H) * (4 * H) + column
    add = bias + side * (4 * H) + column
    i = tl.sigmoid(
        tl.load(gate, inside, 0.0).to(tl.float32) + tl.load(add, inside, 0.0)
    )
    j = tl.load(gate + H, inside, 0.0).to(tl.float32) + tl.load(add + H, inside, 0.0)
    f = tl.sigmoid(
        tl.load(gate + 2 * H, inside, 0.0).to(tl.float32)
        + tl.load(add + 2 * H, inside, 0.0)
    )
    o = tl.sigmoid(
        tl.load(gate + 3 * H, inside, 0.0).to(tl.float32)
        + tl.load(add + 3 * H, inside, 0.0)
    )
    j = 2 * tl.sigmoid(2 * j) - 1
    c_before = tl.load(before + side * count + place, inside, 0.0)
    c = f * c_before + i * j
    c = tl.minimum(tl.maximum(c, -clip), clip)
    y = o * (2 * tl.sigmoid(2 * c) - 1)
    kind = gates.dtype.element_ty
    if TRAINING:
        tl.store(gate, i.to(kind), inside)
        tl.store(gate + H, j.to(kind), inside)
        tl.store(gate + 2 * H, f.to(kind), inside)
        tl.store(gate + 3 * H, o.to(kind), inside)
    else:
        alive = tl.load(ends + place // H, inside, 0) > at
        c = tl.where(alive, c, c_before)
        y = tl.where(alive, y, 0.0)
    tl.store(after + side * count + place, c, inside)
    tl.store(raw + side * raw_stride + place, y.to(kind), inside)


@jit
def _lstm_step_backward(  # noqa: PLR0917
    d_raw,
    d_c,
    gates,
    before,
    after,
    count,
    gate_stride,
    clip,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
):
    side = tl.program_id(1)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    gate = gates + side * gate_stride + (place // H) * (4 * H) + place % H
    i = tl.load(gate, inside, 0.0).to(tl.float32)
    j = tl.load(gate + H, inside, 0.0).to(tl.float32)
    f = tl.load(gate + 2 * H, inside, 0.0).to(tl.float32)
    o = tl.load(gate + 3 * H, inside, 0.0).to(tl.float32)
    place = side * count + place
    c = tl.load(after + place, inside, 0.0)
    tanh_c = 2 * tl.sigmoid(2 * c) - 1
    d_h = tl.load(d_raw + place, inside, 0.0).to(tl.float32)
    d_cell = tl.load(d_c + place, inside, 0.0) + d_h * o * (1 - tanh_c * tanh_c)
    d_cell = tl.where(tl.abs(c) < clip, d_cell, 0.0)
    kind = gates.dtype.element_ty
    tl.store(gate, (d_cell * j * i * (1 - i)).to(kind), inside)
    tl.store(gate + H, (d_cell * i * (1 - j * j)).to(kind), inside)
    tl.store(
        gate + 2 * H,
        (d_cell * tl.load(before + place, inside, 0.0) * f * (1 - f)).to(kind),
        inside,
    )
    tl.store(gate + 3 * H, (d_h * tanh_c * o * (1 - o)).to(kind), inside)
    tl.store(d_c + place, d_cell * f, inside)
