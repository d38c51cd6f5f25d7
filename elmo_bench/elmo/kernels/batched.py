"""The biLM for batches on any device, with or without gradients.

Both directions run as one batched product.

Shape letters: N words, B rows, T steps, C characters, D character embedding, F filters,
P projection, H cell; the leading 2 is the direction.
"""

from itertools import groupby

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.frozen import moved
from elmo_bench.elmo.kernels.gradients import lstm_layer
from elmo_bench.elmo.model import BiLM, CharacterEncoder, ProjectedLstm, State
from elmo_bench.text.chars import PAD_CHARACTER

ROWS_AT_ONCE = 1024  # rows times steps whose gates are in memory at once


class BatchedBiLM:
    """A `Network` (see `kernels/__init__.py`) on the parameters of a BiLM.

    They are read at each call.
    """

    words_at_once = 512  # words of similar length share a trimmed convolution

    def __init__(self, bilm: BiLM):
        self.bilm = bilm
        self.options = bilm.options

    def characters(self, ids: Tensor) -> Tensor:
        """Character ids [N, C], every row a word -> [N, P]."""
        encoder = self.bilm.characters
        lengths, order = by_length(ids)
        parts = []
        for rows in order.split(self.words_at_once):
            longest = int(lengths[rows[-1]])
            parts.append(convolve(encoder, ids[rows], longest))
        x = torch.cat(parts)[torch.argsort(order)]  # NF
        for highway in encoder.highways:
            x = highway(x)
        return encoder.projection(x)  # NP

    def contextual(
        self, vectors: Tensor, words: Tensor, states: list[State], sizes: list[int]
    ) -> tuple[list[Tensor], list[State]]:
        """As `Network.contextual`; no gradient flows beyond the first states."""
        if torch.is_grad_enabled():
            return self._with_gradients(vectors, words, states, sizes)
        x = functional.embedding(words, vectors)  # 2TBP
        outputs: list[Tensor] = []
        last = []
        for lstm, state in zip(self.bilm.lstms, states, strict=True):
            y, state_after = _in_place(lstm, x, state, sizes)
            x = y + x if outputs else y
            outputs.append(x)
            last.append(state_after)
        return outputs, last

    def _with_gradients(
        self, vectors: Tensor, words: Tensor, states: list[State], sizes: list[int]
    ) -> tuple[list[Tensor], list[State]]:
        shape = (len(sizes), words.shape[2])  # TB
        inside = torch.arange(shape[1]) < torch.tensor(sizes)[:, None]  # TB
        [places] = moved(words.device, inside.flatten().nonzero()[:, 0])  # N
        words = words.flatten(1, 2).index_select(1, places)
        x = functional.embedding(words, vectors)  # 2NP
        outputs: list[Tensor] = []
        last = []
        for lstm, state in zip(self.bilm.lstms, states, strict=True):
            y, state_after = lstm_layer(lstm, x, state, sizes)
            x = y + x if outputs else y
            padded = x.new_zeros(2, inside.numel(), x.shape[2])
            outputs.append(padded.index_copy(1, places, x).unflatten(1, shape))
            last.append(state_after)
        return outputs, last


def by_length(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Character ids [N, C] -> lengths [N], and the order [N] in which they rise.

    The lengths are without trailing pad characters.
    """
    positions = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    lengths = torch.where(ids != PAD_CHARACTER, positions, 0).amax(dim=1)
    return lengths, torch.argsort(lengths)


def convolve(encoder: CharacterEncoder, ids: Tensor, longest: int) -> Tensor:
    """Character ids [N, C] of words of at most `longest` characters -> [N, F].

    The rest of C is not computed.
    """
    # The maximum is also over windows of pad characters alone, which are all equal: one
    # is left for the widest filter.
    characters = ids[:, : longest + encoder.widest]
    x = functional.embedding(characters, encoder.embeddings())  # NCD
    pooled = []
    for convolution in encoder.convolutions:
        # One product over all windows: twice as fast to train as conv1d.
        width = convolution.kernel_size[0]
        count = x.shape[1] - width + 1
        columns = [x[:, start : start + count] for start in range(width)]
        windows = torch.cat(columns, dim=2)  # NC(width D)
        weight = convolution.weight.permute(2, 1, 0).flatten(0, 1)  # (width D)F
        assert convolution.bias is not None
        maxima = (windows @ weight).amax(dim=1)  # NF
        pooled.append(maxima + convolution.bias)
    return encoder.activation(torch.cat(pooled, dim=1))


def _in_place(
    lstm: ProjectedLstm, x: Tensor, state: State, sizes: list[int]
) -> tuple[Tensor, State]:
    """x [2, T, B, P] -> outputs [2, T, B, P], and the state [2, B, P or H] at the end.

    The outputs are zeros after a row's end.
    """
    _, steps, batch, dim = x.shape
    weight_in, weight_h = lstm.weight.split(dim, dim=1)
    dtype = weight_h.dtype
    bias = lstm.gate_bias()[:, None]
    projection = lstm.projection
    clip = lstm.projection_clip
    y = torch.zeros_like(x)
    h = state[0].clone()
    c = state[1].clone()
    raw = torch.empty_like(c)
    at_once = max(1, ROWS_AT_ONCE // batch)
    for start in range(0, steps, at_once):
        # The input's share of the gates, of a few steps at a time.
        part = x[:, start : start + at_once]
        inputs = torch.baddbmm(bias, part.flatten(1, 2), weight_in)
        inputs = inputs.unflatten(1, part.shape[1:3])
        outputs = y[:, start : start + at_once]
        some = sizes[start : start + at_once]
        for alive, same in groupby(range(len(some)), key=some.__getitem__):
            h_alive = h[:, :alive]
            c_alive = c[:, :alive]
            o_tanh_c = raw[:, :alive]
            for t in same:
                gates = torch.baddbmm(inputs[:, t, :alive], h_alive.to(dtype), weight_h)
                activated = advance(gates.float(), c_alive, o_tanh_c, lstm.cell_clip)
                projected = torch.bmm(activated.to(dtype), projection)
                output = outputs[:, t, :alive]
                h_alive.copy_(torch.clamp(projected, -clip, clip, out=output))
    return y, (h, c)


def advance(gates: Tensor, c: Tensor, raw: Tensor, clip: float) -> Tensor:
    """A step without gradients, in place; returns o * tanh(c), written to `raw`.

    gates [.., B, 4H] in the order i, j, f, o; the 1 of f's bias is in them. They are
    overwritten, c [.., B, H] is updated. tanh goes through the sigmoid, which PyTorch
    vectorises on CPUs: several times faster there, and within 1e-7.
    """
    i, j, f, o = gates.chunk(4, dim=-1)
    j.mul_(2)
    gates.sigmoid_()  # of j: sigmoid(2 j), and tanh(j) = 2 sigmoid(2 j) - 1
    c.mul_(f).addcmul_(i, j, value=2).sub_(i).clamp_(-clip, clip)
    return torch.mul(c, 2, out=raw).sigmoid_().mul_(2).sub_(1).mul_(o)
