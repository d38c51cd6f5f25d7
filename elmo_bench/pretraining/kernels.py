"""The softmax's loss and gradients, each in one pass over GPU memory (Triton).

The same in plain PyTorch runs on CPUs, and on GPUs without Triton; tests compare the
two.

Shape letters: M rows, P projection, V words, S candidates.
"""

import math

import torch
from torch import Tensor

from elmo_bench.elmo.kernels.steps import jit, tl, triton

COLUMNS = 4096  # of a row of logits, at a time
LOGITS = 2**29  # in memory at once
# More columns than features: the bias in two parts, and zeros that keep rows aligned.
EXTRA = 8
# Candidates are made up to a multiple of this: products of odd sizes are several times
# slower.
ALIGNED = 64
NEVER = -30_000.0  # the logit of a candidate that only fills up
IGNORED = -2  # a row without a target
SEPARATE = -1  # a row whose target has a logit outside the matrix


class Sampler:
    """`samples` distinct words, with the same probabilities in every draw.

    Log-uniform by rank, as in bilm-tf.
    """

    def __init__(self, words: int, samples: int, device: torch.device):
        rank = torch.arange(words, dtype=torch.double)
        share = torch.log((rank + 2) / (rank + 1)) / math.log(words + 1)
        other = torch.log1p(-share)  # log of the chance that a draw is another word
        draws = _draws_for(samples, other)
        self.samples = samples
        self.log_share = share.log().float().to(device)
        self.log_chance = torch.log(-torch.expm1(draws * other)).float().to(device)

    def draw(self) -> Tensor:
        """int64 [S]: drawn without replacement.

        By the highest of log shares with Gumbel noise.
        """
        noise = torch.empty_like(self.log_share).exponential_().log_()
        return torch.topk(self.log_share - noise, self.samples, sorted=False).indices


def _draws_for(samples: int, other: Tensor) -> float:
    """The number of draws with replacement that have `samples` distinct words.

    other [V]: the logarithm of the chance that a draw is another word.
    """

    def distinct(draws: float) -> Tensor:
        return (-torch.expm1(draws * other)).sum()

    low = 0.0
    high = 1.0
    while distinct(high) < samples:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if distinct(middle) < samples:
            low = middle
        else:
            high = middle
    return high


def cross_entropy(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    targets: Tensor,
    sampler: Sampler | None = None,
) -> tuple[Tensor, Tensor]:
    """Features [M, P], softmax [V, P] and [V] -> mean loss, and losses [M].

    targets int64 [M] (negative: none). Products have the type of `x`, sums are float32.
    With a sampler the loss is over the target and the drawn words, each logit lowered
    by the logarithm of its chance (Jean et al. 2015). Only the mean has gradients.
    """
    ids = sampler.draw() if sampler else None
    chance = sampler.log_chance if sampler else None
    return _CrossEntropy.apply(x, weight, bias, targets, ids, chance)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, weight, bias, targets, ids, chance):  # noqa: PLR0917
        kind = x.dtype
        rows, features = x.shape
        shift = bias if chance is None else bias - chance
        wanted = targets >= 0
        word = targets.clamp(min=0)
        if ids is None:
            matrix = _with_bias(weight, shift, kind)  # V(P+8)
            column = word
            separate = x.new_zeros(rows, dtype=torch.float32)
        else:
            matrix = _with_bias(weight[ids], shift[ids], kind)  # S(P+8)
            place = torch.full_like(bias, SEPARATE, dtype=torch.int64)
            place[ids] = torch.arange(len(ids), device=ids.device)
            column = place[word]
            target_rows = weight[word].to(kind)
            separate = (x.float() * target_rows.float()).sum(dim=1) + shift[word]
        column = torch.where(wanted, column, IGNORED)
        ahead = x.new_zeros(rows, features + EXTRA)
        ahead[:, :features] = x
        ahead[:, features : features + 2] = 1
        loss = torch.empty_like(separate)
        d_separate = torch.empty_like(separate)
        d_matrix = torch.zeros_like(matrix, dtype=torch.float32)
        d_x = torch.empty_like(ahead)
        size = max(1, LOGITS // len(matrix))
        for start in range(0, rows, size):
            block = slice(start, start + size)
            logits = ahead[block] @ matrix.T
            loss_rows(
                logits, column[block], separate[block], loss[block], d_separate[block]
            )
            torch.mm(logits, matrix, out=d_x[block])
            d_matrix += logits.T @ ahead[block]
            del logits
        d_x = d_x[:, :features]
        if ids is None:
            d_matrix = d_matrix[: len(weight)]
            d_weight = d_matrix[:, :features]
            d_bias = d_matrix[:, features]
        else:
            d_matrix = d_matrix[: len(ids)]
            d_weight = torch.zeros_like(weight)
            d_weight[ids] = d_matrix[:, :features]
            d_weight.index_add_(0, word, d_separate[:, None] * x)
            d_bias = torch.zeros_like(bias)
            d_bias[ids] = d_matrix[:, features]
            d_bias.index_add_(0, word, d_separate)
            d_x = d_x + (d_separate[:, None] * target_rows).to(kind)
        count = wanted.sum()
        ctx.save_for_backward(d_x, d_weight, d_bias, count)
        ctx.mark_non_differentiable(loss)
        return loss.sum() / count, loss

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient, _):
        d_x, d_weight, d_bias, count = ctx.saved_tensors
        scale = gradient / count
        d_x = d_x * scale.to(d_x.dtype)
        return d_x, d_weight * scale, d_bias * scale, None, None, None


def _with_bias(weight: Tensor, bias: Tensor, kind: torch.dtype) -> Tensor:
    """[S, P] and [S] -> [S made up to ALIGNED, P + EXTRA] in `kind`.

    The bias is two columns: its rounded value and the remainder.
    """
    words, features = weight.shape
    rows = (words + ALIGNED - 1) // ALIGNED * ALIGNED
    matrix = weight.new_zeros(rows, features + EXTRA, dtype=kind)
    rounded = bias.to(kind)
    matrix[:words, :features] = weight
    matrix[:words, features] = rounded
    matrix[:words, features + 1] = bias - rounded.float()
    matrix[words:, features] = NEVER
    return matrix


def loss_rows(
    logits: Tensor, column: Tensor, separate: Tensor, loss: Tensor, d_separate: Tensor
) -> None:
    """Logits MV become their gradients, of the sum of the cross-entropies.

    These go to `loss` M. `column` M int64 is the target's column, SEPARATE where its
    logit is `separate` M float32 and one more candidate, IGNORED where the row has no
    target. `d_separate` M becomes the gradient of `separate`.
    """
    if logits.is_cuda and triton:
        rows, columns = logits.shape
        with torch.cuda.device_of(logits):  # Triton launches on the current one
            _loss_rows[(rows,)](
                logits,
                column,
                separate,
                loss,
                d_separate,
                columns,
                logits.stride(0),
                BLOCK=COLUMNS,
                num_warps=8,
            )
        return
    x = logits.float()
    outside = column == SEPARATE
    wanted = column != IGNORED
    hit = column.clamp(min=0)[:, None]
    total = torch.logsumexp(x, dim=1)
    total = torch.where(outside, torch.logaddexp(total, separate), total)
    target = torch.where(outside, separate, x.gather(1, hit)[:, 0])
    loss.copy_(torch.where(wanted, total - target, 0.0))
    d_separate.copy_(torch.where(outside, torch.exp(separate - total) - 1, 0.0))
    share = torch.exp(x - total[:, None])
    one = torch.where(column >= 0, -1.0, 0.0)[:, None]
    share.scatter_add_(1, hit, one.to(share))
    logits.copy_(share * wanted[:, None])


@jit
def _loss_rows(  # noqa: PLR0917
    logits, column, separate, loss, d_separate, columns, stride, BLOCK: tl.constexpr
):
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
        tl.store(
            d_separate + row, tl.where(target == -1, tl.exp(apart - total_log) - 1, 0.0)
        )
        tl.debug_barrier()
        for start in range(0, columns, BLOCK):
            place = start + tl.arange(0, BLOCK)
            inside = place < columns
            x = tl.load(line + place, inside, -1e30).to(tl.float32)
            share = tl.exp(x - total_log) - tl.where(place == target, 1.0, 0.0)
            tl.store(line + place, share.to(kind), inside)
