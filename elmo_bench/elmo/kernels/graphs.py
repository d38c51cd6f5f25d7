"""Inference on a GPU: the launches of a loop over time are a CUDA graph.

A step's element-wise work is one kernel (`steps.py`). The same steps in plain PyTorch
run on CPUs, and on GPUs without Triton; tests compare these with the reference.

Shape letters: B sentences, R rows (B rounded up, see `pieces`), T steps, P projection,
H cell; a leading 2 is the direction.
"""

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from math import prod
from operator import itemgetter

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.frozen import float32_products, moved
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.kernels.steps import LayerWeights, lstm_loop
from elmo_bench.elmo.model import BiLM, ProjectedLstm, State
from elmo_bench.nn.graphs import Graphs

# Rows times steps that the buffers of inference hold.
FEW = 256
MANY = 8192
MOST_STEPS = 64  # of a graph
# Above, rows are rounded up to a multiple of this; below, to a power of two.
EVEN = 128
# With so few rows a step costs less than another piece: steps are rounded up to a
# multiple.
SMALL = 4
STEPS = 8


class GraphBiLM(BatchedBiLM):
    """A `Network` (see `kernels/__init__.py`) for inference on a GPU.

    `products` is float32's precision in products.

    A call is cut into pieces of few shapes, so that few graphs serve all calls. A piece
    is one product of all inputs, then for each step a product, a fused kernel, a
    projection and its clip. One call at a time has the buffers.
    """

    words_at_once = 4096

    def __init__(self, bilm: BiLM, *, products: str = "ieee"):
        super().__init__(bilm)
        self.products = products
        self._lock = threading.Lock()
        self._room = 0

    def characters(self, ids: Tensor) -> Tensor:
        """As `Network.characters`."""
        with float32_products(self.products):
            return super().characters(ids)

    def contextual(
        self, vectors: Tensor, words: Tensor, states: list[State], sizes: list[int]
    ) -> tuple[list[Tensor], list[State]]:
        """As `Network.contextual`."""
        x = functional.embedding(words, vectors)  # 2TBP
        ends, final = _ends(sizes, rows=x.shape[2], device=x.device)
        began = ends[:, None] > 0
        needed = [steps * rows for _, steps, rows in pieces(sizes)]
        outputs = []
        last = []
        with self._lock, float32_products(self.products):
            self._make_room(x, max(needed, default=0))
            for index, state in enumerate(states):
                y, c = self._layer(index, x, state, sizes, ends)
                h = state[0]
                at_end = y.flatten(1, 2).index_select(1, final) if sizes else h
                x = y + x if index > 0 else y
                outputs.append(x)
                last.append((torch.where(began, at_end.to(h.dtype), h), c))
        return outputs, last

    def _make_room(self, x: Tensor, needed: int) -> None:
        """Buffers for so many rows times steps.

        Larger ones have other addresses, so graphs are captured again.
        """
        if needed <= self._room:
            return
        self._room = FEW if needed <= FEW else max(MANY, needed)
        self._graphs = Graphs(x.device)
        cell = self.options.lstm_dim
        features = self.options.projection_dim
        sizes = {
            "gates": 4 * cell,
            "raw": cell,
            "c": cell,
            "x": features,
            "y": features,
            "h": features,
        }
        self._flat = {}
        for name, size in sizes.items():
            dtype = torch.float32 if name == "c" else x.dtype
            self._flat[name] = x.new_zeros(2 * self._room * size, dtype=dtype)
        self._ends = torch.zeros(self._room, dtype=torch.int32, device=x.device)

    def _view(self, name: str, *shape: int) -> Tensor:
        """The beginning of a buffer in this shape."""
        return self._flat[name][: prod(shape)].view(shape)

    def _layer(
        self, index: int, x: Tensor, state: State, sizes: Sequence[int], ends: Tensor
    ) -> tuple[Tensor, Tensor]:
        """x [2, T, B, P] -> outputs, and the cells at a row's end.

        The outputs are zeros after a row's end.
        """
        _, _, batch, features = x.shape
        cell = self.options.lstm_dim
        lstm = self.bilm.lstms[index]
        y = torch.zeros_like(x)
        h = state[0]
        c = state[1].clone()
        # Pieces of fewer rows lie elsewhere in the buffers.
        for rows, same in groupby(pieces(sizes), key=itemgetter(2)):
            run = list(same)
            first_step = run[0][0]
            real = min(rows, batch)
            h_rows = self._view("h", 2, rows, features)
            c_rows = self._view("c", 2, rows, cell)
            h_rows[:, :real] = h[:, :real]
            c_rows[:, :real] = c[:, :real]
            self._ends[:real] = ends[:real] - first_step
            self._ends[real:rows] = 0
            for start, steps, _ in run:
                # Fewer steps at the end of few rows, see `pieces`.
                some = x[:, start : start + steps, :real]
                x_piece = self._view("x", 2, steps, rows, features)
                x_piece[:, : some.shape[1], :real] = some
                loop = partial(self._steps, lstm, steps, rows)
                self._graphs.run((index, steps, rows), loop)
                y_piece = self._view("y", 2, steps, rows, features)
                y[:, start : start + steps, :real] = y_piece[:, : some.shape[1], :real]
            h = h_rows[:, :real].clone()
            c[:, :real] = c_rows[:, :real]
        return y, c

    def _steps(self, lstm: ProjectedLstm, steps: int, rows: int) -> None:
        """All steps of a piece: from the buffers x, h and c to y, h and c."""
        features = self.options.projection_dim
        cell = self.options.lstm_dim
        weight_in, weight_h = lstm.weight.split(features, dim=1)
        weights = LayerWeights(
            weight_h,
            lstm.gate_bias().float(),
            lstm.projection,
            lstm.cell_clip,
            lstm.projection_clip,
        )
        x = self._view("x", 2, steps, rows, features)
        gates = self._view("gates", 2, steps, rows, 4 * cell)
        raw = self._view("raw", 2, rows, cell)
        h = self._view("h", 2, rows, features)
        c = self._view("c", 2, rows, cell)
        outputs = self._view("y", 2, steps, rows, features).unbind(1)
        torch.bmm(x.flatten(1, 2), weight_in, out=gates.flatten(1, 2))
        lstm_loop(
            weights,
            read=[h, *outputs[:-1]],
            gates=gates.unbind(1),
            cells=[c] * (steps + 1),
            raw=[raw] * steps,
            outputs=outputs,
            ends=self._ends,
        )
        h.copy_(outputs[-1])
        self._ends.sub_(steps)


def _ends(
    sizes: Sequence[int], *, rows: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The number of words of each row [B], and its last word among the rows [T B].

    `sizes[t]` rows have a word at step t.
    """
    numbers = torch.arange(rows)
    alive = torch.tensor(sizes, dtype=torch.int64)[:, None] > numbers  # TB
    ends = alive.sum(dim=0)
    final = (ends - 1).clamp(min=0) * rows + numbers
    ends, final = moved(device, ends, final)
    return ends, final


def pieces(sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(first step, steps, rows) of each piece.

    `sizes[t]` rows have a word at step t, ever fewer, at last none.
    """
    start = 0
    while start < len(sizes):
        alive = sizes[start]
        if alive > EVEN:
            rows = _up_to_multiple(alive, EVEN)
        else:
            rows = 1 << (alive - 1).bit_length()
        left = len(sizes) - start
        if rows <= SMALL:
            steps = min(MOST_STEPS, _up_to_multiple(left, STEPS))
        else:
            most = min(MOST_STEPS, max(1, MANY // rows), left)
            steps = 1 << (most.bit_length() - 1)
        yield start, steps, rows
        start += steps


def _up_to_multiple(number: int, of: int) -> int:
    return (number + of - 1) // of * of
