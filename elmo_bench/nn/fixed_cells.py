"""Cells whose tensors keep their addresses, so that a GPU replays their loops.

A loop over time is hundreds of small kernels, and launching them one by one takes
longer than running them (see `Graphs`).

Shape letters: B batch, T steps, N directions, G blocks, H units, as in `cells.py`.
"""

from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from elmo_bench.nn.cells import Lstm
from elmo_bench.nn.graphs import Graphs

# Devices whose loops are replayed.
REPLAYED = {"cuda"}
# Steps are rounded up to a multiple, so that few shapes occur.
STEPS = 16
# Shapes of a layer that are kept; batches of other shapes run step by step.
MOST_SHAPES = 16

Shape = tuple[int, int, bool, torch.dtype]


class FixedCell:
    """One cell for all batches of one shape, with the methods of an `Lstm`.

    The steps that round up a shape come last. They read zeros, and what they compute
    changes nothing: their gradients are zeros.
    """

    def __init__(self, cell: Lstm, masks: Tensor | None, graphs: Graphs, shape: Shape):
        """masks: what the cell got as `keep`."""
        self.cell = cell
        self.masks = masks
        self.graphs = graphs
        self.shape = shape
        self.steps = 0  # of the batch
        # Whether a backward pass is to come, which reads what a forward pass left.
        self.waits = False
        hidden = cell.h.shape[3]
        directions = cell.h.shape[1]
        self.weight = cell.h.new_empty(directions, hidden, cell.gates * hidden)
        self.weight_t = cell.h.new_empty(directions, cell.gates * hidden, hidden)
        self.d_h = torch.empty_like(cell.h)
        self.d_first = torch.empty_like(cell.h[:2])

    @property
    def blocks(self) -> Tensor:
        """As `Lstm.blocks`, of the steps of the batch."""
        return self.cell.blocks[: self.steps]

    @property
    def h(self) -> Tensor:
        """As `Lstm.h`, of the steps of the batch."""
        return self.cell.h[: self.steps + 1]

    @property
    def keep(self) -> Tensor | None:
        """As `Lstm.keep`."""
        return self.cell.keep

    def load(self, blocks: Tensor, first: Tensor, keep: Tensor | None) -> None:
        """Take over a batch; the arguments are `Lstm`'s."""
        self.steps = len(blocks)
        everything = self.cell.blocks.flatten(3)
        everything[: self.steps] = blocks
        everything[self.steps :] = 0
        self.cell.h[0] = first[0]
        self.cell.c[0] = first[1]
        if self.masks is not None:
            assert keep is not None
            self.masks.copy_(keep)

    def forward(self, weight: Tensor) -> None:
        """As `Lstm.forward`."""
        self.weight.copy_(weight)
        self.graphs.run(("forward", self.shape), self._forward)

    def backward(self, weight: Tensor, d_h: Tensor) -> Tensor:
        """As `Lstm.backward`; `d_h` has the steps of the batch alone."""
        self.weight_t.copy_(weight)
        self.d_h[: len(d_h)] = d_h
        self.d_h[len(d_h) :] = 0
        self.graphs.run(("backward", self.shape), self._backward)
        self.waits = False
        return self.d_first.clone()

    def _forward(self) -> None:
        self.cell.forward(self.weight)

    def _backward(self) -> None:
        self.d_first.copy_(self.cell.backward(self.weight_t, self.d_h))


class FixedCells:
    """The cells of one layer, by shape."""

    def __init__(self, device: torch.device):
        self.device = device
        self.graphs = Graphs(device)
        self.cells: dict[Shape, FixedCell] = {}

    def take(
        self,
        kind: type[Lstm],
        blocks: Tensor,
        first: Tensor,
        keep: Tensor | None,
        *,
        learns: bool,
    ) -> FixedCell | None:
        """A cell with this batch; the arguments are `Lstm`'s.

        None if there are too many shapes, or the cell of this shape waits for its
        backward pass. learns: whether a backward pass will come.
        """
        steps = (len(blocks) + STEPS - 1) // STEPS * STEPS
        shape = (steps, blocks.shape[2], keep is not None, blocks.dtype)
        fixed = self.cells.get(shape)
        if fixed is None:
            if len(self.cells) >= MOST_SHAPES:
                return None
            room = blocks.new_empty(steps, *blocks.shape[1:])
            masks = None if keep is None else torch.empty_like(keep)
            cell = kind(room, first, masks)
            fixed = FixedCell(cell, masks, self.graphs, shape)
            self.cells[shape] = fixed
        if fixed.waits:
            return None
        fixed.load(blocks, first, keep)
        fixed.waits = learns
        return fixed


def fixed_cells_of(layer: nn.Module, device: torch.device) -> FixedCells | None:
    """The fixed cells of a layer on this device; None where loops are not replayed."""
    if device.type not in REPLAYED:
        return None
    cells = _OF_LAYERS.get(layer)
    if cells is None or cells.device != device:
        cells = FixedCells(device)
        _OF_LAYERS[layer] = cells
    return cells


# Not in the layer, which can be copied and pickled.
_OF_LAYERS: WeakKeyDictionary[nn.Module, FixedCells] = WeakKeyDictionary()
