"""The time loop of a projected LSTM layer for training, on buffers.

Shape letters: T steps, B sentences, P projection, H cell; the leading 2 is the
direction.
"""

import math
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from elmo_bench.elmo.kernels.steps import (
    LayerWeights,
    lstm_loop,
    lstm_step_backward,
)
from elmo_bench.elmo.model import ProjectedLstm
from elmo_bench.nn.graphs import Graphs

# Rows of the buffers on a GPU, in both directions, up to which there are twice as many
# as are needed: larger buffers have other addresses, so graphs are captured again.
SPARE_ROOM = 2**17


def layer(lstm: ProjectedLstm, x: Tensor) -> Tensor:
    """x [2, T, B, P] -> [2, T, B, P] from zero state.

    `ProjectedLstm.forward` without its masks.
    """
    kind = x.device.type
    if torch.is_autocast_enabled(kind):
        x = x.to(torch.get_autocast_dtype(kind))
    loop = _LOOPS.get(lstm)
    if loop is None or not loop.fits(x):
        loop = TimeLoop(lstm, x)
        _LOOPS[lstm] = loop
    return _Layer.apply(x, lstm.weight, lstm.gate_bias(), lstm.projection, loop)


def room_for(needed: int, *, on_gpu: bool) -> int:
    """The rows of new buffers, in both directions."""
    if not on_gpu:
        return needed
    return max(needed, min(2 * needed, SPARE_ROOM))


class TimeLoop:
    """The steps of one layer, forward and backward.

    On buffers with fixed addresses (see `Graphs`).
    """

    def __init__(self, lstm: ProjectedLstm, x: Tensor):
        _, steps, rows, features = x.shape
        cell = lstm.projection.shape[1]
        self.features = features
        self.cell = cell
        self.room = room_for(2 * rows * (steps + 1), on_gpu=x.is_cuda)
        sizes = {
            "both": 2 * features,
            "gates": 4 * cell,
            "raw": cell,
            "d_both": 2 * features,
            "d_y": features,
            "inside": features,
        }
        self.flat = {
            name: x.new_empty(self.room * size) for name, size in sizes.items()
        }
        self.flat["cells"] = x.new_empty(self.room * cell, dtype=torch.float32)
        self.weights = LayerWeights(
            gates=x.new_empty(lstm.weight.shape),
            bias=x.new_empty(lstm.bias.shape, dtype=torch.float32),
            projection=x.new_empty(lstm.projection.shape),
            cell_clip=lstm.cell_clip,
            projection_clip=lstm.projection_clip,
        )
        self.weight_t = x.new_empty(lstm.weight.mT.shape)
        self.projection_t = x.new_empty(lstm.projection.mT.shape)
        self.graphs = Graphs(x.device)

    def fits(self, x: Tensor) -> bool:
        """Whether the buffers can hold this input."""
        _, steps, rows, _ = x.shape
        buffer = self.flat["both"]
        if x.dtype != buffer.dtype or x.device != buffer.device:
            return False
        return 2 * rows * (steps + 1) <= self.room

    def view(self, name: str, *shape: int) -> Tensor:
        """A buffer's beginning in this shape."""
        return self.flat[name][: math.prod(shape)].view(shape)

    def run(self, name: str, steps: int, rows: int) -> None:
        """Run `forward` or `backward`."""
        loop = getattr(self, name)
        self.graphs.run((name, steps, rows), lambda: loop(steps, rows))

    def forward(self, steps: int, rows: int) -> None:
        """`lstm_loop`; `both` holds the input and h before each step."""
        features = self.features
        cell = self.cell
        both = self.view("both", 2, steps + 1, rows, 2 * features).unbind(1)
        gates = self.view("gates", 2, steps, rows, 4 * cell)
        raw = self.view("raw", 2, steps, rows, cell)
        cells = self.view("cells", steps + 1, 2, rows, cell).unbind(0)
        h = [of_step[..., features:] for of_step in both]
        h[0].zero_()
        cells[0].zero_()
        lstm_loop(
            self.weights,
            read=both[:-1],
            gates=gates.unbind(1),
            cells=cells,
            raw=raw.unbind(1),
            outputs=h[1:],
        )

    def backward(self, steps: int, rows: int) -> None:
        """Gradients of the gates (written over them), of `both`, and of the outputs.

        The gradients of the outputs include later steps.
        """
        features = self.features
        cell = self.cell
        gates = self.view("gates", 2, steps, rows, 4 * cell)
        states = self.view("cells", steps + 1, 2, rows, cell)
        d_y = self.view("d_y", 2, steps, rows, features)
        inside = self.view("inside", 2, steps, rows, features)
        d_both = self.view("d_both", 2, steps, rows, 2 * features)
        # Of one step; a graph takes them from memory of its own.
        d_raw = gates.new_empty(2, rows, cell)
        d_c = states.new_zeros(2, rows, cell)
        for t in range(steps - 1, -1, -1):
            if t + 1 < steps:
                d_h = d_both[:, t + 1, :, features:]
                d_y[:, t].addcmul_(d_h, inside[:, t])
            torch.bmm(d_y[:, t], self.projection_t, out=d_raw)
            lstm_step_backward(
                d_raw,
                d_c,
                gates[:, t],
                states[t],
                states[t + 1],
                self.weights.cell_clip,
            )
            torch.bmm(gates[:, t], self.weight_t, out=d_both[:, t])


_LOOPS: WeakKeyDictionary[ProjectedLstm, TimeLoop] = WeakKeyDictionary()


class _Layer(torch.autograd.Function):
    """x 2TBP, weight 2(2P)(4H), bias 2(4H), projection 2HP -> outputs 2TBP.

    One backward pass for each forward pass.
    """

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, weight, bias, projection, loop):  # noqa: PLR0917
        _, steps, rows, features = x.shape
        loop.weights.gates.copy_(weight)
        loop.weights.projection.copy_(projection)
        loop.weights.bias.copy_(bias)
        both = loop.view("both", 2, steps + 1, rows, 2 * features)
        both[:, :-1, :, :features] = x
        loop.run("forward", steps, rows)
        ctx.loop = loop
        return both[:, 1:, :, features:].contiguous()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, d_outputs):
        loop = ctx.loop
        _, steps, rows, features = d_outputs.shape
        cells = steps * rows
        loop.weight_t.copy_(loop.weights.gates.mT)
        loop.projection_t.copy_(loop.weights.projection.mT)
        both = loop.view("both", 2, steps + 1, rows, 2 * features)
        inside = loop.view("inside", 2, steps, rows, features)
        d_y = loop.view("d_y", 2, steps, rows, features)
        clip = loop.weights.projection_clip
        torch.lt(both[:, 1:, :, features:].abs(), clip, out=inside)
        torch.mul(d_outputs, inside, out=d_y)
        loop.run("backward", steps, rows)
        d_gates = loop.view("gates", 2, cells, 4 * loop.cell)
        raw = loop.view("raw", 2, cells, loop.cell)
        read = both[:, :-1].reshape(2, cells, 2 * features)
        ones = d_gates.new_ones(2, 1, cells)
        d_weight = torch.bmm(read.mT, d_gates).float()
        d_projection = torch.bmm(raw.mT, d_y.flatten(1, 2)).float()
        d_bias = torch.bmm(ones, d_gates)[:, 0].float()
        d_both = loop.view("d_both", 2, steps, rows, 2 * features)
        d_x = d_both[..., :features].clone()
        return d_x, d_weight, d_bias, d_projection, None
