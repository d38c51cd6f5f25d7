"""The profile of a step: inner parts take their time from the outer one, and all add up."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from elmo_bench.nn.recurrent import BiLstm
from tests.runs import ROOT


class Clock:
    """A clock of processor time that the test sets."""

    now = 0.0

    def process_time(self):
        return self.now


@pytest.fixture
def head_parts(monkeypatch):
    """The module; scripts of a folder import each other by name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import head_parts

    return head_parts


@pytest.fixture
def clock(monkeypatch, head_parts):
    clock = Clock()
    monkeypatch.setattr(head_parts, "time", clock)
    return clock


def test_an_inner_part_takes_its_time_from_the_outer_one(head_parts, clock):
    parts = head_parts.Parts()

    def inner():
        clock.now += 5

    with parts.part("outer"):
        clock.now += 1
        parts.timed("inner", inner)()
        clock.now += 2
    clock.now += 100  # of no part
    with parts.part("outer"):
        clock.now += 4
    assert parts.seconds == {"outer": 7.0, "inner": 5.0}


class Embedder(nn.Module):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock
        self.table = nn.Embedding(5, 4)

    def forward(self, rows):
        self.clock.now += 2
        return self.table(rows)

    def output(self, rows):
        self.clock.now += 3
        return self.table(rows)

    def regularisation(self):
        return torch.zeros(())


class Slow(torch.autograd.Function):
    """Takes 40 seconds on its way back."""

    @staticmethod
    def forward(ctx, x, clock):
        ctx.clock = clock
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.clock.now += 40
        return gradient, None


class Head(nn.Module):
    def __init__(self, clock):
        super().__init__()
        self.embedder = Embedder(clock)
        self.lstm = BiLstm(4, 3)
        self.clock = clock

    def forward(self, batch):
        x = self.lstm(self.embedder(batch["rows"]), batch["rows"] > 0)
        self.clock.now += 7
        self.embedder.output(batch["rows"])
        return Slow.apply(x, self.clock)

    def loss(self, batch):
        self.clock.now += 11
        return self(batch).sum()

    def predict(self, batch):
        self.clock.now += 13
        return [0, 1]


class Steps:
    """What `profile` needs of `heads.Steps`; an epoch has two steps and one batch of dev."""

    clip, epoch = 1.0, 2

    def __init__(self, clock):
        head = Head(clock)
        metric = SimpleNamespace(counts=lambda gold, predicted: {"right": np.array(gold) == predicted})
        self.module = nn.Module()
        self.module.head, self.module.metric = head, metric
        self.optimiser = torch.optim.SGD(head.parameters(), lr=0.1)
        examples = [SimpleNamespace(gold=number) for number in range(2)]
        batches = type("Batches", (), {"examples": examples, "__getitem__": lambda _, numbers: self.read()})()
        self.loaders = SimpleNamespace(loader=lambda split: SimpleNamespace(sampler=[[0, 1]], dataset=batches))
        self.clock = clock

    def read(self):
        self.clock.now += 17
        return {"rows": torch.tensor([[1, 2, 0], [3, 4, 1]])}

    def fill(self, dataset, batches):
        pass


def test_the_parts_of_a_step_add_up(head_parts, clock):
    means = head_parts.profile(lambda: Steps(clock), steps=3)
    assert set(means) == {*head_parts.PARTS, head_parts.DEV}
    expected = {"collate": 17, "embedder": 5, "other forward": 7, "loss": 11, "backward: rest": 40}
    expected[head_parts.DEV] = 15
    assert {name: 1e-3 * value for name, value in means.items() if value} == pytest.approx(expected)
