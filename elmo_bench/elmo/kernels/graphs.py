"""Loops over time on a GPU: a step's element-wise work is one kernel (Triton), a loop's launches are a CUDA graph.

Inference (`GraphBiLM`) and pretraining share them. The same steps in plain PyTorch run on CPUs, and on GPUs without
Triton; tests compare these with the reference.

Shape letters: B sentences, R rows (B rounded up, see `pieces`), T steps, P projection, H cell; a leading 2
is the direction.
"""

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import prod
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from elmo_bench.elmo.frozen import float32_products, moved
from elmo_bench.elmo.kernels.batched import BatchedBiLM
from elmo_bench.elmo.model import BiLM, ProjectedLstm, State

try:
    import triton
    from triton import language as tl
except ImportError:  # CPU builds of PyTorch come without it
    triton, tl = None, SimpleNamespace(constexpr=int)

BLOCK = 1024
EAGER = 2  # times that a loop runs before it is captured: then its kernels are compiled and memory for them is there
FEW, MANY = 256, 8192  # rows times steps that the buffers of inference hold
MOST_STEPS = 64  # of a graph
EVEN = 128  # above, rows are rounded up to a multiple of this; below, to a power of two
SMALL, STEPS = 4, 8  # with so few rows a step costs less than another piece: steps are rounded up to a multiple


class Graphs:
    """Loops over fixed addresses; on a GPU they become CUDA graphs.

    A loop is hundreds of small kernels, and launching them one by one takes longer than running them.
    """

    def __init__(self, device: torch.device):
        self.seen: Counter[Hashable] = Counter()
        self.graphs: dict[Hashable, torch.cuda.CUDAGraph] = {}
        self.on_gpu = device.type == "cuda"
        if self.on_gpu:
            self.pool, self.stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(device)

    def run(self, key: Hashable, loop: Callable[[], None]) -> None:
        """Run the loop of a key, which does the same to the same addresses whenever its key comes."""
        self.seen[key] += 1
        if graph := self.graphs.get(key):
            graph.replay()
        elif not self.on_gpu or self.seen[key] <= EAGER:
            loop()
        else:
            graph, current = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
            self.stream.wait_stream(current)
            with torch.cuda.stream(self.stream):
                graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
                loop()
                graph.capture_end()
            current.wait_stream(self.stream)
            self.graphs[key] = graph
            graph.replay()


class GraphBiLM(BatchedBiLM):
    """A `Network` (see `kernels/__init__.py`) for inference on a GPU; `products` is float32's precision in products.

    A call is cut into pieces of few shapes, so that few graphs serve all calls. A piece is one product of all inputs,
    then for each step a product, a fused kernel, a projection and its clip. One call at a time has the buffers.
    """

    words_at_once = 4096

    def __init__(self, bilm: BiLM, *, products: str = "ieee"):
        super().__init__(bilm)
        self.products, self._lock, self._room = products, threading.Lock(), 0

    def characters(self, ids: Tensor) -> Tensor:
        """As `Network.characters`."""
        with float32_products(self.products):
            return super().characters(ids)

    def contextual(
        self, vectors: Tensor, words: Tensor, states: list[State], sizes: list[int]
    ) -> tuple[list[Tensor], list[State]]:
        """As `Network.contextual`."""
        x = functional.embedding(words, vectors)  # 2TBP
        ends = (torch.tensor(sizes, dtype=torch.int64)[:, None] > torch.arange(x.shape[2])).sum(dim=0)  # B: words
        final = (ends - 1).clamp(min=0) * len(ends) + torch.arange(len(ends))  # B: of the rows [T B]
        ends, final = moved(x.device, ends, final)
        began = ends[:, None] > 0
        outputs, last = [], []
        with self._lock, float32_products(self.products):
            self._make_room(x, max((steps * rows for _, steps, rows in pieces(sizes)), default=0))
            for index, state in enumerate(states):
                y, c = self._layer(index, x, state, sizes, ends)
                at_end = y.flatten(1, 2).index_select(1, final) if sizes else state[0]
                x = y + x if index else y
                outputs.append(x)
                last.append((torch.where(began, at_end.to(state[0].dtype), state[0]), c))
        return outputs, last

    def _make_room(self, x: Tensor, needed: int) -> None:
        """Buffers for so many rows times steps. Larger ones have other addresses, so graphs are captured again."""
        if needed > self._room:
            self._room = FEW if needed <= FEW else max(MANY, needed)
            self._graphs, options = Graphs(x.device), self.options
            cell, features = options.lstm_dim, options.projection_dim
            sizes = {"gates": 4 * cell, "raw": cell, "c": cell, "x": features, "y": features, "h": features}
            self._flat = {
                name: x.new_zeros(2 * self._room * size, dtype=torch.float32 if name == "c" else x.dtype)
                for name, size in sizes.items()
            }
            self._ends = torch.zeros(self._room, dtype=torch.int32, device=x.device)

    def _view(self, name: str, *shape: int) -> Tensor:
        """The beginning of a buffer in this shape."""
        return self._flat[name][: prod(shape)].view(shape)

    def _layer(self, index: int, x: Tensor, state: State, sizes: Sequence[int], ends: Tensor) -> tuple[Tensor, Tensor]:
        """x [2, T, B, P] -> outputs, zeros after a row's end, and the cells at its end."""
        count, features, cell = x.shape[2], x.shape[3], self.options.lstm_dim
        y, h, c = torch.zeros_like(x), state[0], state[1].clone()
        for rows, same in groupby(pieces(sizes), key=itemgetter(2)):  # fewer rows lie elsewhere in the buffers
            run, kept = list(same), min(rows, count)
            h_rows, c_rows = self._view("h", 2, rows, features), self._view("c", 2, rows, cell)
            h_rows[:, :kept], c_rows[:, :kept] = h[:, :kept], c[:, :kept]
            self._ends[:kept], self._ends[kept:rows] = ends[:kept] - run[0][0], 0
            for start, steps, _ in run:
                some = x[:, start : start + steps, :kept]  # fewer at the end of few rows, see `pieces`
                self._view("x", 2, steps, rows, features)[:, : some.shape[1], :kept] = some
                self._graphs.run((index, steps, rows), partial(self._steps, self.bilm.lstms[index], steps, rows))
                part = self._view("y", 2, steps, rows, features)
                y[:, start : start + steps, :kept] = part[:, : some.shape[1], :kept]
            h, c[:, :kept] = h_rows[:, :kept].clone(), c_rows[:, :kept]
        return y, c

    def _steps(self, lstm: ProjectedLstm, steps: int, rows: int) -> None:
        """All steps of a piece: from the buffers x, h and c to y, h and c."""
        features, cell = self.options.projection_dim, self.options.lstm_dim
        weight_in, weight_h = lstm.weight.split(features, dim=1)
        x, y = (self._view(name, 2, steps, rows, features) for name in "xy")
        gates, raw = self._view("gates", 2, steps, rows, 4 * cell), self._view("raw", 2, rows, cell)
        h, c, bias = self._view("h", 2, rows, features), self._view("c", 2, rows, cell), lstm.gate_bias().float()
        torch.bmm(x.flatten(1, 2), weight_in, out=gates.flatten(1, 2))
        for t in range(steps):
            gates[:, t].baddbmm_(y[:, t - 1] if t else h, weight_h)
            lstm_step(gates[:, t], bias, c, c, raw, lstm.cell_clip, ends=self._ends, at=t)
            torch.bmm(raw, lstm.projection, out=y[:, t])
            y[:, t].clamp_(-lstm.projection_clip, lstm.projection_clip)
        h.copy_(y[:, -1])
        self._ends.sub_(steps)


def pieces(sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(first step, steps, rows) of each piece; `sizes[t]` rows have a word at step t, ever fewer, at last none."""
    start = 0
    while start < len(sizes):
        alive = sizes[start]
        rows = -(-alive // EVEN) * EVEN if alive > EVEN else 1 << (alive - 1).bit_length()
        left = len(sizes) - start
        most = min(MOST_STEPS, max(1, MANY // rows), left)
        steps = min(MOST_STEPS, -(-left // STEPS) * STEPS) if rows <= SMALL else 1 << (most.bit_length() - 1)
        yield start, steps, rows
        start += steps


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
    """From gate inputs 2R(4H) in the order i, j, f, o and the cell `before` 2RH to the next cell, in `after` 2RH.

    bias 2(4H) and cells are float32; o * tanh(c) goes to `raw` 2RH. In training the gates become their activations.
    Inference has `ends` int32 [R]: rows that end at step `at` or before keep their cell, and their `raw` is zeros.
    """
    if gates.is_cuda and triton:
        count, cell = raw.shape[1] * raw.shape[2], raw.shape[2]
        strides = gates.stride(0), raw.stride(0)
        given = gates, bias, before, after, raw, gates if ends is None else ends, at, count, *strides, clip
        _lstm_step[(triton.cdiv(count, BLOCK), 2)](*given, H=cell, BLOCK=BLOCK, TRAINING=ends is None)
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
    d_raw: Tensor, d_c: Tensor, gates: Tensor, before: Tensor, after: Tensor, clip: float
) -> None:
    """Activations 2R(4H) become gradients of the gate inputs; `d_c` 2RH float32 moves to the cell before.

    d_raw 2RH is the gradient of o * tanh(c).
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


def jit(function: Any) -> Any:
    """Compile a kernel with Triton, where it is installed; steps of a loop share a kernel, whatever their number."""
    return triton.jit(function, do_not_specialize=["at"]) if triton else function


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
    i = tl.sigmoid(tl.load(gate, inside, 0.0).to(tl.float32) + tl.load(add, inside, 0.0))
    j = tl.load(gate + H, inside, 0.0).to(tl.float32) + tl.load(add + H, inside, 0.0)
    f = tl.sigmoid(tl.load(gate + 2 * H, inside, 0.0).to(tl.float32) + tl.load(add + 2 * H, inside, 0.0))
    o = tl.sigmoid(tl.load(gate + 3 * H, inside, 0.0).to(tl.float32) + tl.load(add + 3 * H, inside, 0.0))
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
