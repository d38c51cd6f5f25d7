"""Inference on a CPU: weights packed once for oneDNN, element-wise work in place.

The operators of oneDNN are private in torch. No other module uses private operators.
`works` tries them, because another version of torch may lack them.

With many rows each step is one product of [input; h] with packed weights, and the
lowest layer's share of a word is computed once for all its positions. With few rows,
where reading the weights is the cost, the input's share of many steps is one product,
and a step reads the recurrent weights alone.

Shape letters: N words, B rows, T steps, C characters, D character embedding, F filters,
P projection, H cell; the leading 2 is the direction.
"""

from collections.abc import Callable
from functools import cache, cached_property

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.kernels.batched import (
    ROWS_AT_ONCE,
    BatchedBiLM,
    advance,
    by_length,
)
from elmo_bench.elmo.model import BiLM, Highway, ProjectedLstm, State

WORDS_AT_ONCE = 256  # words of similar length that go through the characters together
FEW_ROWS = 16  # below, the input's part of the gates is computed for many steps at once
ROWS_HINT = 64  # for the packing; any number of rows works

# x [M, in], plus=None or [M, out] -> x @ weight + bias + plus, float32 [M, out]
Product = Callable[..., Tensor]
# step t, h [M, P] of the rows alive -> gates [M, 4H]
Gates = Callable[[int, Tensor], Tensor]


class Packed:
    """A `Product` in `dtype`: float32 or bfloat16.

    oneDNN packs the matrix for this CPU when it is first used.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype):
        self.weight = weight
        self.bias = None if bias is None else bias.to(dtype)
        self.dtype = dtype

    @cached_property
    def _matrix(self) -> Tensor:
        matrix = self.weight.T.to(self.dtype).contiguous()
        return torch.ops.mkldnn._reorder_linear_weight(matrix, ROWS_HINT)

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        linear = torch.ops.mkldnn._linear_pointwise
        if plus is not None and self.dtype == torch.float32:
            return linear.binary(x, plus, self._matrix, self.bias, "add")
        x = x.to(self.dtype)
        y = linear(x, self._matrix, self.bias, "none", [], "").float()
        return y if plus is None else y.add_(plus)


class Quantised:
    """A `Product` in 8 bits: one scale for each column of the matrix and row of x.

    The scale of a row is computed from that row, so its result does not depend on the
    others. What a row is does depend on their number: from FEW_ROWS on a step's row is
    [input; h], with one scale for both.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None):
        self.weight = weight
        self.bias = bias

    @cached_property
    def _matrix(self) -> tuple[Tensor, Tensor, Tensor]:
        scales = (self.weight.abs().amax(dim=0) / 127).clamp(min=1e-12)
        whole = (self.weight / scales).round().to(torch.int8).T.contiguous()
        packed = torch.ops.onednn.qlinear_prepack(whole, [ROWS_HINT, len(self.weight)])
        return packed, scales, torch.zeros(len(scales), dtype=torch.int32)

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        matrix, scales, zeros = self._matrix
        largest = (x.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-12)  # M1
        # Moved by 128: oneDNN's kernel for signed inputs is slow.
        whole = (x / largest).round_().add_(128).to(torch.uint8)
        y = torch.ops.onednn.qlinear_pointwise(
            whole,
            1.0,  # its scale
            128,  # its zero
            matrix,
            scales,
            zeros,
            None,  # no bias
            1.0,  # the result's scale
            0,  # the result's zero
            torch.float32,
            "none",  # no operation after the product
            [],
            "",
        )
        if plus is not None:
            if self.bias is not None:
                plus = plus + self.bias
            return torch.addcmul(plus, y, largest)
        if self.bias is not None:
            return torch.addcmul(self.bias, y, largest)
        return y.mul_(largest)


def product(weight: Tensor, bias: Tensor | None, precision: str) -> Product:
    """The product with a weight [in, out]."""
    if precision == "int8":
        return Quantised(weight, bias)
    return Packed(weight, bias, getattr(torch, precision))


@cache
def works(precision: str) -> bool:
    """Whether this CPU multiplies right with torch's private operators.

    Tried on a small product: the operators may be missing, oneDNN has no bfloat16 for
    CPUs without AVX-512, and without VNNI, two products of bytes add up in 16 bits
    only.
    """
    full = torch.ones(64, 64)  # the largest numbers that int8 has, in all places
    varied = torch.linspace(-1, 1, 64 * 64).view(64, 64)
    bias = torch.linspace(-2, 2, 64)
    slack = 1e-3 if precision == "float32" else 0.3

    def equal(y: Tensor, expected: Tensor) -> bool:
        return torch.allclose(y, expected, rtol=slack / 30, atol=slack)

    try:
        for weight in (full, varied):
            y = product(weight, bias, precision)(full, plus=varied)
            if not equal(y, torch.addmm(bias, full, weight) + varied):
                return False
            if not equal(product(weight, None, precision)(varied), varied @ weight):
                return False
    except (AttributeError, TypeError, RuntimeError):
        return False
    return True


class PackedLstm:
    """One direction of a projected LSTM layer.

    Its steps go over buffers that are written in place.
    """

    def __init__(self, lstm: ProjectedLstm, direction: int, precision: str):
        weight = lstm.weight[direction]
        projection = lstm.projection[direction]
        bias = lstm.gate_bias()[direction]
        self.dim = projection.shape[1]
        self.both = product(weight, bias, precision)
        self.input = product(weight[: self.dim], bias, precision)
        self.recurrent = product(weight[self.dim :], None, precision)
        self.projection = product(projection, None, precision)
        self.cell_clip = lstm.cell_clip
        self.projection_clip = lstm.projection_clip

    def gates(self, x: Tensor, words: Tensor, vectors: Tensor | None) -> Gates:
        """The gates for x [T, B, P].

        In the lowest layer, words [T, B] are the rows of `vectors` that are x.
        """
        if x.shape[1] < FEW_ROWS:
            return self._gates_of_few(x)
        if vectors is None:
            return lambda t, h: self.both(torch.cat([x[t, : len(h)], h], dim=1))
        table = self.input(vectors)  # N(4H)
        return lambda t, h: self.recurrent(h, plus=table[words[t, : len(h)]])

    def _gates_of_few(self, x: Tensor) -> Gates:
        rows = x.shape[1]
        at_once = max(1, ROWS_AT_ONCE // rows)
        inputs = x

        def gates(t: int, h: Tensor) -> Tensor:
            nonlocal inputs
            if t % at_once == 0:
                some = x[t : t + at_once].flatten(0, 1)
                inputs = self.input(some).unflatten(0, (-1, rows))
            return self.recurrent(h, plus=inputs[t % at_once, : len(h)])

        return gates

    def run(
        self, gates: Gates, y: Tensor, h: Tensor, c: Tensor, sizes: list[int]
    ) -> None:
        """Write outputs y [T, B, P] up to each row's end.

        h [B, P] and c [B, H] are updated in place.
        """
        raw = torch.empty_like(c)
        clip = self.projection_clip
        for t, alive in enumerate(sizes):
            advance(gates(t, h[:alive]), c[:alive], raw[:alive], self.cell_clip)
            projected = self.projection(raw[:alive])
            h[:alive] = torch.clamp(projected, -clip, clip, out=y[t, :alive])


class PackedBiLM:
    """A `Network` (see `kernels/__init__.py`) of packed weights, without gradients."""

    def __init__(self, bilm: BiLM, precision: str):
        self.bilm = bilm
        self.options = bilm.options
        self.precision = precision
        characters = bilm.characters
        self.convolutions = []
        for convolution in characters.convolutions:
            weight = convolution.weight.transpose(1, 2).flatten(1).T  # (width D)F
            self.convolutions.append(product(weight, convolution.bias, precision))
        self.highways = [_highway(layer, precision) for layer in characters.highways]
        self.projection = product(
            characters.projection.weight.T, characters.projection.bias, precision
        )
        self.lstms = []
        for lstm in bilm.lstms:
            forward = PackedLstm(lstm, 0, precision)
            backward = PackedLstm(lstm, 1, precision)
            self.lstms.append((forward, backward))

    def characters(self, ids: Tensor) -> Tensor:
        """Character ids [N, C] of words -> [N, P]."""
        lengths, order = by_length(ids)
        vectors = torch.empty(len(ids), self.options.projection_dim)
        for rows in order.split(WORDS_AT_ONCE):
            longest = int(lengths[rows[-1]])
            x = self._convolve(ids[rows], longest)  # NF
            for highway in self.highways:
                gate, new = highway(x).chunk(2, dim=1)
                x = torch.lerp(x, new.relu_(), gate.sigmoid_())
            vectors[rows] = self.projection(x)
        return vectors

    def _convolve(self, ids: Tensor, longest: int) -> Tensor:
        """As `batched.convolve`: [N, C] -> [N, F]."""
        size = self.options.character_dim
        table = self.bilm.characters.embeddings()
        x = functional.embedding(ids, table).flatten(1)  # N(C D)
        pooled = []
        widths = [width for width, _ in self.options.filters]
        for width, convolution in zip(widths, self.convolutions, strict=True):
            windows = x.unfold(1, width * size, size)
            windows = windows[:, : longest + 1]  # the last is of pad characters alone
            y = convolution(windows.flatten(0, 1))
            pooled.append(y.unflatten(0, windows.shape[:2]).amax(dim=1))
        return self.bilm.characters.activation(torch.cat(pooled, dim=1))

    def contextual(
        self, vectors: Tensor, words: Tensor, states: list[State], sizes: list[int]
    ) -> tuple[list[Tensor], list[State]]:
        """As `Network.contextual`."""
        rows = words.shape[2]
        if rows == 1 and self.precision == "float32":
            # Here both directions at once are faster than packed weights.
            return BatchedBiLM(self.bilm).contextual(vectors, words, states, sizes)
        x = functional.embedding(words, vectors)  # 2TBP
        outputs: list[Tensor] = []
        last = []
        # In other precisions the products of all steps are cheaper than the table.
        table = vectors if self.precision == "float32" else None
        for directions, state in zip(self.lstms, states, strict=True):
            y = torch.zeros_like(x)
            h = state[0].clone()
            c = state[1].clone()
            for d, lstm in enumerate(directions):
                gates = lstm.gates(x[d], words[d], table)
                lstm.run(gates, y[d], h[d], c[d], sizes)
            x = y.add_(x) if outputs else y
            table = None  # higher layers read no words
            outputs.append(x)
            last.append((h, c))
        return outputs, last


def _highway(highway: Highway, precision: str) -> Product:
    """x [M, F] -> the gate's and the new features' shares, [M, 2F]."""
    weight = torch.cat([highway.carry.weight, highway.transform.weight])
    bias = torch.cat([highway.carry.bias, highway.transform.bias])
    return product(weight.T, bias, precision)
