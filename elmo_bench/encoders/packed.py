"""A frozen biLM on a CPU: weights packed for oneDNN once, element-wise work in place, both batch sizes in mind.

The same function as `BiLM` without gradients (the equations stand there and in `recurrence.py`), only faster: with many
rows each step is one product of [input; h] with packed weights; with few, where reading the weights is the cost, the
input's part of all steps is one product and a step reads the recurrent weights alone.

Shape letters: N words, B rows, T steps, C characters, F filters, P projection, H cell; the leading 2 is the direction.
"""

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.encoders.bilm import ROWS_AT_ONCE, BiLM, ProjectedLstm, State
from elmo_bench.encoders.products import product
from elmo_bench.encoders.recurrence import advance

WORDS_AT_ONCE = 256  # words of similar length that go through the characters together
FEW_ROWS = 16  # below, the input's part of the gates is computed for many steps at once


class PackedLstm:
    """One direction of a projected LSTM layer: steps over buffers that are written in place."""

    def __init__(self, lstm: ProjectedLstm, direction: int, precision: str):
        weight, projection = lstm.weight[direction], lstm.projection[direction]
        self.dim = projection.shape[1]
        bias = lstm.gate_bias()[direction]
        self.both = product(weight, bias, precision)
        self.input = product(weight[: self.dim], bias, precision)
        self.recurrent = product(weight[self.dim :], None, precision)
        self.projection = product(projection, None, precision)
        self.cell_clip, self.projection_clip = lstm.cell_clip, lstm.projection_clip

    def run(self, x: Tensor, y: Tensor, h: Tensor, c: Tensor, sizes: list[int]) -> None:
        """x [T, B, P] -> y [T, B, P], left as it is behind a row's end; h [B, P] and c [B, H] are updated in place."""
        batch = x.shape[1]
        at_once = max(1, ROWS_AT_ONCE // batch)
        both = torch.cat([x[0], h], dim=1)  # B(2P)
        recent = both[:, self.dim :]
        raw = torch.empty_like(c)
        inputs = x
        for t, alive in enumerate(sizes):
            if batch < FEW_ROWS:
                if t % at_once == 0:
                    steps = x[t : t + at_once]
                    inputs = self.input(steps.flatten(0, 1)).unflatten(0, steps.shape[:2])
                gates = self.recurrent(recent[:alive]).add_(inputs[t % at_once, :alive])
            else:
                both[:alive, : self.dim] = x[t, :alive]
                gates = self.both(both[:alive])
            advance(gates, c[:alive], raw[:alive], self.cell_clip)
            clip = self.projection_clip
            recent[:alive] = torch.clamp(self.projection(raw[:alive]), -clip, clip, out=y[t, :alive])
        h.copy_(recent)


class PackedBiLM:
    """The two methods of a `BiLM` that inference needs, without gradients, on packed weights."""

    def __init__(self, bilm: BiLM, precision: str):
        self.bilm, self.options, self.precision = bilm, bilm.options, precision
        characters = bilm.characters
        self.convolutions = [
            product(
                convolution.weight.transpose(1, 2).flatten(1).T, convolution.bias, precision
            )  # (width, char dim) to F
            for convolution in characters.convolutions
        ]
        self.highways = [
            product(
                torch.cat([highway.carry.weight, highway.transform.weight]).T,
                torch.cat([highway.carry.bias, highway.transform.bias]),
                precision,
            )
            for highway in characters.highways
        ]
        self.projection = product(characters.projection.weight.T, characters.projection.bias, precision)
        self.lstms = [[PackedLstm(lstm, direction, precision) for direction in (0, 1)] for lstm in bilm.lstms]

    def characters(self, ids: Tensor) -> Tensor:
        """Ids [N, C] of words -> [N, P]."""
        lengths, order = self.bilm.characters.by_length(ids)
        vectors = torch.empty(len(ids), self.options.projection_dim)
        for rows in order.split(WORDS_AT_ONCE):
            x = self._convolve(ids[rows], int(lengths[rows[-1]]))  # NF
            for highway in self.highways:
                gate, new = highway(x).chunk(2, dim=1)
                x = torch.lerp(x, new.relu_(), gate.sigmoid_())
            vectors[rows] = self.projection(x)
        return vectors

    def _convolve(self, ids: Tensor, longest: int) -> Tensor:
        """As `CharacterEncoder.convolve`, each convolution as one product of all its windows."""
        size = self.options.character_dim
        x = functional.embedding(ids, self.bilm.characters.embeddings()).flatten(1)  # N(C char dim)
        pooled = []
        for (width, _), convolution in zip(self.options.filters, self.convolutions, strict=True):
            windows = x.unfold(1, width * size, size)[:, : longest + 1]  # the last one is of pad characters alone
            pooled.append(convolution(windows.flatten(0, 1)).unflatten(0, windows.shape[:2]).amax(dim=1))
        return self.bilm.characters.activation(torch.cat(pooled, dim=1))

    def contextual(self, x: Tensor, states: list[State], sizes: list[int]) -> tuple[list[Tensor], list[State]]:
        """As `BiLM.contextual`: [2, T, B, P] and states -> every layer's output [2, T, B, P], and the last states."""
        if x.shape[2] == 1 and self.precision == "float32":  # one row: packing does not pay, both directions at once do
            return self.bilm.contextual(x, states, sizes)
        outputs, last = [], []
        for index, (lstm, state) in enumerate(zip(self.lstms, states, strict=True)):
            y, h, c = torch.zeros_like(x), state[0].clone(), state[1].clone()
            for direction in (0, 1):
                lstm[direction].run(x[direction], y[direction], h[direction], c[direction], sizes)
            x = y.add_(x) if index else y
            outputs.append(x)
            last.append((h, c))
        return outputs, last
