"""The biLM for batches on any device, with or without gradients: both directions run as one batched product.

Shape letters: N words, B rows, T steps, C characters, D character embedding, F filters, P projection, H cell; the
leading 2 is the direction.
"""

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.kernels import recurrence
from elmo_bench.elmo.model import BiLM, CharacterEncoder, ProjectedLstm, State
from elmo_bench.nn.fused import fused
from elmo_bench.text.chars import PAD_CHARACTER

WORDS_AT_ONCE = 512  # words of similar length share a trimmed convolution
ROWS_AT_ONCE = 1024  # rows times steps whose gates are in memory at once


class BatchedBiLM:
    """A `Network` (see `kernels/__init__.py`) on the parameters of a BiLM as they are at each call."""

    def __init__(self, bilm: BiLM):
        self.bilm, self.options = bilm, bilm.options

    def characters(self, ids: Tensor) -> Tensor:
        """Character ids [N, C], every row a word -> [N, P]."""
        encoder = self.bilm.characters
        lengths, order = by_length(ids)
        parts = [convolve(encoder, ids[rows], int(lengths[rows[-1]])) for rows in order.split(WORDS_AT_ONCE)]
        x = torch.cat(parts)[torch.argsort(order)]  # NF
        for highway in encoder.highways:
            x = highway(x)
        return encoder.projection(x)  # NP

    def contextual(
        self,
        vectors: Tensor,
        words: Tensor,
        states: list[State],
        sizes: list[int],
        *,
        keep: Tensor | None = None,
        dropout: float = 0.0,
    ) -> tuple[list[Tensor], list[State]]:
        """As `Network.contextual`; in training with dropout before each layer.

        `keep` [2, T, B] of 0 and 1 resets a row's state before a step (training on concatenated sentences).
        """
        x = functional.embedding(words, vectors)  # 2TBP
        outputs, last = [], []
        for index, (lstm, state) in enumerate(zip(self.bilm.lstms, states, strict=True)):
            x = functional.dropout(x, dropout, self.bilm.training)
            y, state_after = _run(lstm, x, state, sizes, keep)
            x = y + x if index else y
            outputs.append(x)
            last.append(state_after)
        return outputs, last


def by_length(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Character ids [N, C] -> lengths [N] without trailing pad characters, and the order [N] in which they rise."""
    positions = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    lengths = torch.where(ids != PAD_CHARACTER, positions, 0).amax(dim=1)
    return lengths, torch.argsort(lengths)


def convolve(encoder: CharacterEncoder, ids: Tensor, longest: int) -> Tensor:
    """Character ids [N, C] of words of at most `longest` characters -> [N, F]; the rest of C is not computed."""
    # The maximum is also over windows of pad characters alone, which are all equal: one is kept for the widest filter.
    widest = max(convolution.kernel_size[0] for convolution in encoder.convolutions)
    x = functional.embedding(ids[:, : longest + widest], encoder.embeddings())  # NCD
    pooled = []
    for convolution in encoder.convolutions:  # one product over all windows, twice as fast to train as conv1d
        width = convolution.kernel_size[0]
        count = x.shape[1] - width + 1
        windows = torch.cat([x[:, start : start + count] for start in range(width)], dim=2)  # NC(width D)
        weight = convolution.weight.permute(2, 1, 0).flatten(0, 1)  # (width D)F
        pooled.append(MaxOverTime.apply(windows @ weight) + convolution.bias)  # NF
    return encoder.activation(torch.cat(pooled, dim=1))


class MaxOverTime(torch.autograd.Function):
    """x NCF -> NF. Positions that share the maximum share its gradient equally, as in the backward pass of amax."""

    @staticmethod
    def forward(ctx, x):
        highest = x.amax(dim=1)
        ctx.save_for_backward(x, highest)
        return highest

    @staticmethod
    def backward(ctx, gradient):
        return _to_maxima(gradient, *ctx.saved_tensors)


@fused
def _to_maxima(gradient: Tensor, x: Tensor, highest: Tensor) -> Tensor:
    maxima = (x == highest[:, None]).float()  # NCF
    return (maxima * (gradient.float() / maxima.sum(dim=1))[:, None]).to(x.dtype)


def _run(lstm: ProjectedLstm, x: Tensor, state: State, sizes: list[int], keep: Tensor | None) -> tuple[Tensor, State]:
    """x [2, T, B, P] -> outputs [2, T, B, P], zeros after a row's end, and the last state."""
    _, steps, batch, projection = x.shape
    clips = (lstm.cell_clip, lstm.projection_clip)
    if torch.is_grad_enabled():
        y, h, c = recurrence.Recurrence.apply(
            x, lstm.weight, lstm.gate_bias(), lstm.projection, *state, keep, sizes, *clips
        )
        if sizes[-1] < batch:
            alive = torch.arange(batch, device=x.device) < torch.tensor(sizes, device=x.device)[:, None]  # TB
            y = torch.where(alive[:, :, None], y, 0)
        return y, (h, c)
    if keep is not None:
        raise NotImplementedError("states are reset in training only")
    weight_in, weight_h = lstm.weight.split(projection, dim=1)
    bias = lstm.gate_bias()[:, None]
    y, (h, c) = torch.zeros_like(x), (part.clone() for part in state)
    at_once = max(1, ROWS_AT_ONCE // batch)
    for start in range(0, steps, at_once):
        part = x[:, start : start + at_once]  # the input's share of the gates, of a few steps at a time
        inputs = torch.baddbmm(bias, part.flatten(1, 2), weight_in).unflatten(1, part.shape[1:3])
        recurrence.run(
            inputs,
            weight_h,
            lstm.projection,
            (h, c),
            outputs=y[:, start : start + at_once],
            sizes=sizes[start : start + at_once],
            clips=clips,
        )
    return y, (h, c)
