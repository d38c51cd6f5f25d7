"""The softmax's loss and gradients, and the element-wise steps of training as one pass over GPU memory each (Triton).

The same steps in plain PyTorch run on CPUs, and on GPUs without Triton; tests compare the two.

Shape letters: M rows, P projection, V words, S candidates, B sentences, H cell; a leading 2 is the direction.
"""

import math
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

try:
    import triton
    from triton import language as tl
except ImportError:  # CPU builds of PyTorch come without it
    triton, tl = None, SimpleNamespace(constexpr=int)

BLOCK = 1024
COLUMNS = 4096  # of a row of logits, at a time
LOGITS = 2**29  # in memory at once
EXTRA = 8  # more columns than features: the bias in two parts, and zeros that keep rows aligned
ALIGNED = 64  # candidates are made up to a multiple of this: products of odd sizes are several times slower
NEVER = -30_000.0  # the logit of a candidate that only fills up
IGNORED, SEPARATE = -2, -1  # a row without a target; a row whose target has a logit outside the matrix


class Sampler:
    """`samples` distinct words, with the same probabilities in every draw (log-uniform by rank, as in bilm-tf)."""

    def __init__(self, words: int, samples: int, device: torch.device):
        rank = torch.arange(words, dtype=torch.double)
        share = torch.log((rank + 2) / (rank + 1)) / math.log(words + 1)
        other = torch.log1p(-share)  # the logarithm of the chance that a draw is another word
        low, high = 0.0, 1.0
        while (-torch.expm1(high * other)).sum() < samples:
            high *= 2
        for _ in range(100):  # draws with replacement that have `samples` distinct words among them
            middle = (low + high) / 2
            few = (-torch.expm1(middle * other)).sum() < samples
            low, high = (middle, high) if few else (low, middle)
        self.samples = samples
        self.log_share = share.log().float().to(device)
        self.log_chance = torch.log(-torch.expm1(high * other)).float().to(device)

    def draw(self) -> Tensor:
        """int64 [S]: drawn without replacement, by the highest of log shares with Gumbel noise."""
        noise = torch.empty_like(self.log_share).exponential_().log_()
        return torch.topk(self.log_share - noise, self.samples, sorted=False).indices


def cross_entropy(
    x: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, sampler: Sampler | None = None
) -> tuple[Tensor, Tensor]:
    """Features [M, P], softmax [V, P] and [V], targets int64 [M] (negative: none) -> mean loss, and losses [M].

    Products have the type of `x`, sums are float32. With a sampler the loss is over the target and the drawn words,
    each logit lowered by the logarithm of its chance (Jean et al. 2015). Only the mean has gradients.
    """
    ids = sampler.draw() if sampler else None
    chance = sampler.log_chance if sampler else None
    return _CrossEntropy.apply(x, weight, bias, targets, ids, chance)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, weight, bias, targets, ids, chance):  # noqa: PLR0917
        kind, (rows, features) = x.dtype, x.shape
        shift = bias if chance is None else bias - chance
        matrix = _with_bias(*((weight, shift) if ids is None else (weight[ids], shift[ids])), kind)  # S(P+8)
        ahead = x.new_zeros(rows, features + EXTRA)
        ahead[:, :features], ahead[:, features : features + 2] = x, 1
        wanted, known = targets >= 0, targets.clamp(min=0)
        if ids is None:
            column, separate = known, x.new_zeros(rows, dtype=torch.float32)
        else:
            place = torch.full_like(bias, SEPARATE, dtype=torch.int64)
            place[ids] = torch.arange(len(ids), device=ids.device)
            column = place[known]
            rows_of_targets = weight[known].to(kind)
            separate = (x.float() * rows_of_targets.float()).sum(dim=1) + shift[known]
        column = torch.where(wanted, column, IGNORED)
        loss, d_separate = torch.empty_like(separate), torch.empty_like(separate)
        d_matrix = torch.zeros_like(matrix, dtype=torch.float32)
        d_x = torch.empty_like(ahead)
        size = max(1, LOGITS // len(matrix))
        for block in (slice(start, start + size) for start in range(0, rows, size)):
            logits = ahead[block] @ matrix.T
            loss_rows(logits, column[block], separate[block], loss[block], d_separate[block])
            torch.mm(logits, matrix, out=d_x[block])
            d_matrix += logits.T @ ahead[block]
            del logits
        d_x, d_matrix = d_x[:, :features], d_matrix[: len(weight if ids is None else ids)]
        if ids is None:
            d_weight, d_bias = d_matrix[:, :features], d_matrix[:, features]
        else:
            d_weight, d_bias = torch.zeros_like(weight), torch.zeros_like(bias)
            d_weight[ids], d_bias[ids] = d_matrix[:, :features], d_matrix[:, features]
            d_weight.index_add_(0, known, d_separate[:, None] * x)
            d_bias.index_add_(0, known, d_separate)
            d_x = d_x + (d_separate[:, None] * rows_of_targets).to(kind)
        count = wanted.sum()
        ctx.save_for_backward(d_x, d_weight, d_bias, count)
        ctx.mark_non_differentiable(loss)
        return loss.sum() / count, loss

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient, _):
        d_x, d_weight, d_bias, count = ctx.saved_tensors
        scale = gradient / count
        return d_x * scale.to(d_x.dtype), d_weight * scale, d_bias * scale, None, None, None


def _with_bias(weight: Tensor, bias: Tensor, kind: torch.dtype) -> Tensor:
    """[S, P] and [S] -> [S made up to ALIGNED, P + EXTRA] in `kind`.

    The bias is two columns: its rounded value and the remainder.
    """
    words, features = weight.shape
    matrix = weight.new_zeros(-(-words // ALIGNED) * ALIGNED, features + EXTRA, dtype=kind)
    rounded = bias.to(kind)
    matrix[:words, :features] = weight
    matrix[:words, features], matrix[:words, features + 1] = rounded, bias - rounded.float()
    matrix[words:, features] = NEVER
    return matrix


def lstm_step(  # noqa: PLR0917
    gates: Tensor, bias: Tensor, before: Tensor, after: Tensor, raw: Tensor, clip: float
) -> None:
    """Gate inputs 2B(4H) in the order i, j, f, o become activations; the next cell goes to `after` 2BH float32.

    bias 2(4H) float32, `before` 2BH float32; o * tanh(c) goes to `raw` 2BH.
    """
    if gates.is_cuda and triton:
        count, cell = raw.shape[1] * raw.shape[2], raw.shape[2]
        _lstm_step[(triton.cdiv(count, BLOCK), 2)](
            gates, bias, before, after, raw, count, gates.stride(0), raw.stride(0), clip, H=cell, BLOCK=BLOCK
        )
        return
    x = gates.float().add_(bias[:, None])  # `gates` itself, where it is float32
    i, j, f, o = x.chunk(4, dim=2)
    for gate in (i, f, o):
        gate.sigmoid_()
    torch.mul(f, before, out=after).addcmul_(i, j.tanh_()).clamp_(-clip, clip)
    gates.copy_(x)
    raw.copy_(torch.tanh(after).mul_(o))


def lstm_step_backward(  # noqa: PLR0917
    d_raw: Tensor, d_c: Tensor, gates: Tensor, before: Tensor, after: Tensor, clip: float
) -> None:
    """Activations 2B(4H) become gradients of the gate inputs; `d_c` 2BH float32 moves to the cell before.

    d_raw 2BH is the gradient of o * tanh(c).
    """
    if gates.is_cuda and triton:
        count, cell = d_raw.shape[1] * d_raw.shape[2], d_raw.shape[2]
        _lstm_step_backward[(triton.cdiv(count, BLOCK), 2)](
            d_raw, d_c, gates, before, after, count, gates.stride(0), clip, H=cell, BLOCK=BLOCK
        )
        return
    i, j, f, o = gates.float().chunk(4, dim=2)
    d_h, tanh_c = d_raw.float(), torch.tanh(after)
    d_cell = torch.where(after.abs() < clip, d_c + d_h * o * (1 - tanh_c * tanh_c), 0.0)
    torch.mul(d_cell, f, out=d_c)  # f is read before the gates are written over
    d_i, d_j, d_f = d_cell * j * i * (1 - i), d_cell * i * (1 - j * j), d_cell * before * f * (1 - f)
    for part, value in zip(gates.chunk(4, dim=2), (d_i, d_j, d_f, d_h * tanh_c * o * (1 - o)), strict=True):
        part.copy_(value)


def loss_rows(logits: Tensor, column: Tensor, separate: Tensor, loss: Tensor, d_separate: Tensor) -> None:
    """Logits MV become their gradients, of the sum of the cross-entropies, which go to `loss` M.

    `column` M int64 is the target's column, SEPARATE where its logit is `separate` M float32 and one more candidate,
    IGNORED where the row has no target. `d_separate` M becomes the gradient of `separate`.
    """
    if logits.is_cuda and triton:
        _loss_rows[(logits.shape[0],)](
            logits, column, separate, loss, d_separate, logits.shape[1], logits.stride(0), BLOCK=COLUMNS, num_warps=8
        )
        return
    x = logits.float()
    total = torch.logsumexp(x, dim=1)
    outside = column == SEPARATE
    total = torch.where(outside, torch.logaddexp(total, separate), total)
    hit = column.clamp(min=0)[:, None]
    target = torch.where(outside, separate, x.gather(1, hit)[:, 0])
    wanted = column != IGNORED
    loss.copy_(torch.where(wanted, total - target, 0.0))
    d_separate.copy_(torch.where(outside, torch.exp(separate - total) - 1, 0.0))
    share = torch.exp(x - total[:, None])
    share.scatter_add_(1, hit, torch.where(column >= 0, -1.0, 0.0)[:, None].to(share))
    logits.copy_(share * wanted[:, None])


def _jit(function: Any) -> Any:
    return triton.jit(function) if triton else function


@_jit
def _lstm_step(  # noqa: PLR0917
    gates, bias, before, after, raw, count, gate_stride, raw_stride, clip, H: tl.constexpr, BLOCK: tl.constexpr
):
    side = tl.program_id(1)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    column = place % H
    gate = gates + side * gate_stride + (place // H) * (4 * H) + column
    add = bias + side * (4 * H) + column
    i = tl.sigmoid(tl.load(gate, inside, 0.0).to(tl.float32) + tl.load(add, inside, 0.0))
    j = tl.load(gate + H, inside, 0.0).to(tl.float32) + tl.load(add + H, inside, 0.0)
    f = tl.sigmoid(tl.load(gate + 2 * H, inside, 0.0).to(tl.float32) + tl.load(add + 2 * H, inside, 0.0))
    o = tl.sigmoid(tl.load(gate + 3 * H, inside, 0.0).to(tl.float32) + tl.load(add + 3 * H, inside, 0.0))
    j = 2 * tl.sigmoid(2 * j) - 1
    c = f * tl.load(before + side * count + place, inside, 0.0) + i * j
    c = tl.minimum(tl.maximum(c, -clip), clip)
    kind = gates.dtype.element_ty
    tl.store(gate, i.to(kind), inside)
    tl.store(gate + H, j.to(kind), inside)
    tl.store(gate + 2 * H, f.to(kind), inside)
    tl.store(gate + 3 * H, o.to(kind), inside)
    tl.store(after + side * count + place, c, inside)
    tl.store(raw + side * raw_stride + place, (o * (2 * tl.sigmoid(2 * c) - 1)).to(kind), inside)


@_jit
def _lstm_step_backward(  # noqa: PLR0917
    d_raw, d_c, gates, before, after, count, gate_stride, clip, H: tl.constexpr, BLOCK: tl.constexpr
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
    tl.store(gate + 2 * H, (d_cell * tl.load(before + place, inside, 0.0) * f * (1 - f)).to(kind), inside)
    tl.store(gate + 3 * H, (d_h * tanh_c * o * (1 - o)).to(kind), inside)
    tl.store(d_c + place, d_cell * f, inside)


@_jit
def _loss_rows(logits, column, separate, loss, d_separate, columns, stride, BLOCK: tl.constexpr):  # noqa: PLR0917
    row = tl.program_id(0)
    line = logits + row.to(tl.int64) * stride
    target = tl.load(column + row)
    kind = logits.dtype.element_ty
    if target == -2:
        for start in range(0, columns, BLOCK):
            place = start + tl.arange(0, BLOCK)
            tl.store(line + place, tl.zeros([BLOCK], kind), place < columns)
        tl.store(loss + row, 0.0)
        tl.store(d_separate + row, 0.0)
    else:
        highest = tl.full([BLOCK], -1e30, tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        for start in range(0, columns, BLOCK):
            place = start + tl.arange(0, BLOCK)
            x = tl.load(line + place, place < columns, -1e30).to(tl.float32)
            higher = tl.maximum(highest, x)
            total = total * tl.exp(highest - higher) + tl.exp(x - higher)
            highest = higher
        apart = tl.load(separate + row)
        top = tl.max(highest, 0)
        top = tl.where(target == -1, tl.maximum(top, apart), top)
        summed = tl.sum(total * tl.exp(highest - top), 0)
        summed = summed + tl.where(target == -1, tl.exp(apart - top), 0.0)
        total_log = top + tl.log(summed)
        wanted = tl.load(line + tl.maximum(target, 0)).to(tl.float32)
        wanted = tl.where(target == -1, apart, wanted)
        tl.store(loss + row, total_log - wanted)
        tl.store(d_separate + row, tl.where(target == -1, tl.exp(apart - total_log) - 1, 0.0))
        tl.debug_barrier()
        for start in range(0, columns, BLOCK):
            place = start + tl.arange(0, BLOCK)
            inside = place < columns
            x = tl.load(line + place, inside, -1e30).to(tl.float32)
            share = tl.exp(x - total_log) - tl.where(place == target, 1.0, 0.0)
            tl.store(line + place, share.to(kind), inside)
