"""Loops at fixed addresses, which a GPU replays: the numbers of loops that run once, batch after batch."""

import copy
import pickle
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from elmo_bench.nn import fixed_cells
from elmo_bench.nn.fixed_cells import fixed_cells_of
from elmo_bench.nn.graphs import Graphs
from elmo_bench.tasks.coref.head import CoupledBiLstm
from elmo_bench.tasks.srl import highway_lstm
from elmo_bench.tasks.srl.highway_lstm import HighwayLstm
from tests.runs import first_ones

# Lengths of the sentences of a batch: some have the shape of an earlier one, when steps are rounded up.
BATCHES = [(5, 1, 3), (3, 3, 2), (20, 7, 1), (5, 2, 4), (16, 16, 16), (17, 3, 1), (2, 1)]
KINDS = ["highway", "highway backwards", "coupled"]


@pytest.fixture
def replayed(monkeypatch):
    """On a CPU a loop runs each time; everything else is as on a GPU."""
    monkeypatch.setattr(highway_lstm, "loops", lambda *_: None)
    monkeypatch.setattr(fixed_cells, "REPLAYED", {"cpu", "cuda"})


class Recorded(TorchDispatchMode):
    """What a CUDA graph does, on a CPU: the same operations on the same memory, without the code between them."""

    def __init__(self):
        super().__init__()
        self.operations = []
        self.ran = True  # recording has run the operations once; a CUDA graph only notes them

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.operations.append((function, args, kwargs or {}, result))
        return result

    def replay(self):
        if self.ran:
            self.ran = False
            return
        for function, args, kwargs, result in self.operations:
            again = function(*args, **kwargs)
            if function._schema.returns[0].alias_info is None:  # neither in place nor a view
                result.copy_(again)


class RecordedGraphs(Graphs):
    def __init__(self, device):
        super().__init__(device)
        self.on_gpu = True

    def _capture(self, loop):
        with Recorded() as graph:
            loop()
        return graph


def layer_of(kind):
    torch.manual_seed(0)
    if kind == "coupled":
        return CoupledBiLstm(3, 4, dropout=0.5)
    return HighwayLstm(3, 4, backwards=kind.endswith("backwards"))


def batch(lengths, seed, device="cpu"):
    torch.manual_seed(seed)
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    x = torch.randn(len(lengths), max(lengths), 3)
    return x.to(device).requires_grad_(), mask.to(device)


def outputs(layer, x, mask, seed, dropout):
    torch.manual_seed(seed)  # the masks of the coupled layer are drawn in it
    if isinstance(layer, CoupledBiLstm):
        return layer.train(dropout)(x, mask)
    keep = torch.bernoulli(torch.full((len(x), 1, 4), 0.5)).mul(2).to(x.device) if dropout else None
    return layer(x, mask, keep)


def trained(layer, device="cpu"):
    """What each batch gives, and its gradients; every second one has dropout. Between them others are only read."""
    found = []
    for number, lengths in enumerate(BATCHES):
        x, mask = batch(lengths, number, device)
        y = outputs(layer, x, mask, number, dropout=number % 2 == 1)
        weights = torch.linspace(-1, 1, y.numel(), device=device).view_as(y)
        gradients = torch.autograd.grad((y * weights).sum(), [x, *layer.parameters()])
        with torch.no_grad():
            read = outputs(layer, x, mask, number, dropout=False)
        found += [y, *gradients, read]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_batch_has_the_numbers_of_a_loop_that_runs_once(replayed, monkeypatch, kind):
    layer = layer_of(kind)
    ours = trained(layer)
    shapes = {(steps, rows, keep) for steps, rows, keep, _ in fixed_cells_of(layer, torch.device("cpu")).cells}
    assert {(16, 3, True), (16, 3, False), (32, 3, False), (16, 2, False)} <= shapes
    monkeypatch.setattr(fixed_cells, "REPLAYED", set())
    assert all(map(torch.equal, ours, trained(layer)))


@pytest.mark.parametrize("kind", first_ones(KINDS, 1))
def test_replayed_without_the_code_around_the_operations_it_has_the_same_numbers(replayed, monkeypatch, kind):
    monkeypatch.setattr(fixed_cells, "Graphs", RecordedGraphs)
    layer = layer_of(kind)
    found = [trained(layer) for _ in range(5)]  # twice step by step, then recorded, then replayed
    graphs = fixed_cells_of(layer, torch.device("cpu")).graphs.graphs
    assert {name for name, _ in graphs} == {"forward", "backward"} and len(graphs) > 6
    assert not any(graph.ran for graph in graphs.values())
    monkeypatch.setattr(fixed_cells, "REPLAYED", set())
    expected = trained(layer)
    assert all(all(map(torch.equal, ours, expected)) for ours in found)


@pytest.mark.parametrize("kind", KINDS)
def test_two_batches_before_a_backward_pass_do_not_share_a_cell(replayed, monkeypatch, kind):
    layer = layer_of(kind)

    def both():
        x, mask = batch((5, 1, 3), 0)
        first, second = (outputs(layer, x, mask, seed, dropout=True) for seed in (0, 1))
        return torch.autograd.grad((first.square() + second).sum(), [x, *layer.parameters()])

    ours, again = both(), both()
    monkeypatch.setattr(fixed_cells, "REPLAYED", set())
    for found in (ours, again):
        assert all(map(torch.equal, found, both()))


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_backward_pass_reads_stays_where_it_is(replayed, kind):
    """Loops of all shapes share their memory, and other loops may be replayed between a forward and its backward."""
    layer = layer_of(kind)
    trained(layer)
    cells = [fixed.cell for fixed in fixed_cells_of(layer, torch.device("cpu")).cells.values()]
    before = [tensor.data_ptr() for cell in cells for tensor in (cell.blocks, cell.h, cell.c, cell.s)]
    trained(layer)
    assert before == [tensor.data_ptr() for cell in cells for tensor in (cell.blocks, cell.h, cell.c, cell.s)]


def test_of_more_shapes_some_run_step_by_step(replayed, monkeypatch):
    monkeypatch.setattr(fixed_cells, "MOST_SHAPES", 2)
    layer = layer_of("highway")
    ours = trained(layer)
    assert len(fixed_cells_of(layer, torch.device("cpu")).cells) == 2
    monkeypatch.setattr(fixed_cells, "REPLAYED", set())
    assert all(map(torch.equal, ours, trained(layer)))


def test_a_layer_is_copied_without_its_cells(replayed):
    layer = layer_of("highway")
    x, mask = batch((5, 1, 3), 0)
    y = layer(x, mask)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(copied(x, mask), y)
        assert fixed_cells_of(copied, x.device) is not fixed_cells_of(layer, x.device)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_replayed_on_a_gpu_it_has_the_numbers_of_the_cpu(monkeypatch, kind):
    monkeypatch.setattr(highway_lstm, "loops", lambda *_: None)
    layer = layer_of(kind)
    if kind == "coupled":
        layer.dropout = 0.0  # a GPU draws other masks
    expected = trained(layer)
    layer.to("cuda")
    for _ in range(4):  # twice step by step, then captured, then replayed
        for found, wanted in zip(trained(layer, "cuda"), expected, strict=True):
            torch.testing.assert_close(found.cpu(), wanted, atol=1e-5, rtol=1e-4)
    assert fixed_cells_of(layer, torch.device("cuda", 0)).graphs.graphs


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_on_a_gpu_two_shapes_before_a_backward_pass_have_the_numbers_of_the_cpu(monkeypatch, kind):
    """As in coreference. All loops of a layer share their memory, so one may overwrite what another left there."""
    monkeypatch.setattr(highway_lstm, "loops", lambda *_: None)
    layer = layer_of(kind)
    if kind == "coupled":
        layer.dropout = 0.0

    def both(device, order):
        inputs = [batch(lengths, 0, device) for lengths in order]
        given = [outputs(layer, x, mask, 0, dropout=False) for x, mask in inputs]
        total = sum(y.square().sum() for y in given)
        return torch.autograd.grad(total, [*(x for x, _ in inputs), *layer.parameters()])

    orders = [[(5, 1, 3), (20, 7, 1)], [(20, 7, 1), (5, 1, 3)]]
    expected = [both("cpu", order) for order in orders]
    layer.to("cuda")
    trained(layer, "cuda")  # some backward loops are captured before other forward ones
    for _ in range(4):
        for order, wanted in zip(orders, expected, strict=True):
            for found, right in zip(both("cuda", order), wanted, strict=True):
                torch.testing.assert_close(found.cpu(), right, atol=1e-5, rtol=1e-4)


def test_an_error_in_a_loop_ends_its_capture(monkeypatch):
    calls = []

    class Graph:
        def capture_begin(self, **_):
            calls.append("begin")

        def capture_end(self):
            calls.append("end")
            raise RuntimeError("the capture is invalid")

    stream = SimpleNamespace(wait_stream=lambda _: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    graphs = Graphs(torch.device("cpu"))
    graphs.stream, graphs.pool = stream, None
    with pytest.raises(ValueError, match="of the loop"):
        graphs._capture(lambda: int("an error of the loop"))
    assert calls == ["begin", "end"]
