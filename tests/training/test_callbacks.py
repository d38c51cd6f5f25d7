"""Callbacks: the moving average of the weights, step by step, and a run's history; both over a kill."""

import random
import re

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from elmo_bench.base.files import read_checkpoint
from elmo_bench.base.progress import Clock
from elmo_bench.training import callbacks
from elmo_bench.training.callbacks import Checkpoints, Ema, GpuMemory, History
from elmo_bench.training.module import HeadTraining
from elmo_bench.training.quiet import quiet
from elmo_bench.training.random_state import RandomState
from tests.training.trainings import Mix, batches, fit, head_training, last

STEPS, EPOCHS = 5, 3


class Follows(pl.LightningModule):
    """One weight that steps towards the numbers of its batches; `seen` at scoring."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0]))
        self.frozen = torch.nn.Parameter(torch.tensor([5.0]), requires_grad=False)
        self.seen = []

    def training_step(self, batch, index):
        return ((self.weight - batch) ** 2).sum()

    def validation_step(self, batch, index):
        self.seen.append(self.weight.item())

    def configure_optimizers(self):
        return torch.optim.SGD([self.weight], lr=0.1)


def average(folder, *, epochs=EPOCHS, resume=None, **options):
    """The module after training, and the checkpoint of its last epoch."""
    module, numbers = Follows(), torch.arange(STEPS, dtype=torch.float32)[:, None]
    dev = DataLoader(torch.zeros(1, 1))
    trainer = fit(
        module, DataLoader(numbers), dev, epochs=epochs, resume=resume, callbacks=[Ema(**options), last(folder)]
    )
    checkpoint = read_checkpoint(folder / "last.ckpt")
    with quiet():
        trainer.validate(module, dev, verbose=False)
    return module, checkpoint


def averages(decay_at):
    """The average at the end of each epoch, by hand; the weight goes a fifth of the way to each number."""
    weight = average = 1.0
    for step in range(STEPS * EPOCHS):
        weight += 0.2 * (step % STEPS - weight)
        average += (1 - decay_at(step + 1)) * (weight - average)
        if step % STEPS == STEPS - 1:
            yield average


@pytest.mark.parametrize(
    ("options", "decay_at"),
    [
        ({"decay": 0.9, "warming": False}, lambda step: 0.9),
        ({"decay": 0.45, "warming": True}, lambda step: min(0.45, (1 + step) / (10 + step))),
        ({"decay": 0.0, "warming": False}, lambda step: 0.0),
    ],
    ids=["decay", "warming", "none"],
)
def test_averages_are_scored_and_kept_while_training_goes_on_with_the_weights(tmp_path, options, decay_at):
    module, checkpoint = average(tmp_path, **options)
    expected = list(averages(decay_at))
    assert module.seen == pytest.approx([*expected, expected[-1]])  # the last: scored after training
    assert module.weight.item() == checkpoint["state_dict"]["weight"].item() == pytest.approx(expected[-1])
    assert module.frozen.item() == 5


def test_a_resumed_training_goes_on_as_if_it_had_not_been_stopped(tmp_path):
    options = {"decay": 0.9, "warming": True}
    whole, _ = average(tmp_path / "whole", **options)
    average(tmp_path / "killed", epochs=1, **options)
    again, _ = average(tmp_path / "killed", resume=tmp_path / "killed" / "last.ckpt", **options)
    assert again.seen == whole.seen[1:]


BATCHES = 3
SCORES = (50.0, 70.0, 70.0, 60.0)


def run(folder, *, epochs, done=0):
    history = History(Clock().start())
    schedule = {"name": "exponential", "gamma": 0.5, "every": BATCHES}
    module = head_training(schedule, SCORES[done:], steps=done * BATCHES)
    fit(
        module, batches(BATCHES), batches(1), epochs=epochs, resume=folder / "last.ckpt" if done else None,
        callbacks=[history, Checkpoints(folder, history)], default_root_dir=folder, logger=None,
    )  # fmt: skip
    return history


def test_curves_costs_and_mixes_by_epoch(tmp_path):
    history = run(tmp_path, epochs=4)
    assert history.scores == history.curves["dev"] == list(SCORES)
    assert history.curves["train_loss"] == [2, 5, 8, 11]
    assert history.curves["lr"] == [1, 0.5, 0.25, 0.125]
    assert history.curves["steps"] == [BATCHES] * 4
    assert history.best_epoch == 2
    assert read_checkpoint(tmp_path / "best.ckpt")["epoch"] == 1  # counted from 0; of equal scores the first
    assert history.tokens == 4 * BATCHES * 2
    assert history.mixes == [{"input": Mix().report()}] * 4
    assert 0 < history.training.read()[0] < sum(history.curves["seconds"]) < history.whole.read()[0]
    assert history.encoding.read() == [0, 0]


def test_a_resumed_run_goes_on_with_its_curves(tmp_path):
    before = run(tmp_path, epochs=2)
    kept = read_checkpoint(tmp_path / "last.ckpt")["callbacks"][before.state_key]
    assert kept["curves"] == before.curves
    after = run(tmp_path, epochs=4, done=2)
    assert after.curves["train_loss"] == [2, 5, 8, 11]
    assert (after.scores, after.curves["lr"]) == (list(SCORES), [1, 0.5, 0.25, 0.125])
    assert after.curves["steps"] == [BATCHES] * 4
    assert after.curves["seconds"][:2] == before.curves["seconds"]
    assert after.tokens == 2 * before.tokens
    for name in ("whole", "training"):
        [wall, cpu], [wall_before, cpu_before] = getattr(after, name).read(), kept["clocks"][name]
        assert wall > wall_before > 0 and cpu > cpu_before > 0


def test_a_resumed_run_has_the_largest_peak_of_its_processes():
    history = History(Clock().start(), versions={"torch": "2"})
    state = history.state_dict()
    history.load_state_dict(state | {"peak": 2**50, "started_with": {"torch": "1"}})
    assert history.peak_memory() == history.state_dict()["peak"] == 2**50
    assert (history.versions, history.started_with) == ({"torch": "2"}, {"torch": "1"})


def test_every_generator_goes_on_where_it_was(tmp_path):
    states = RandomState()
    states.on_train_epoch_end(None, None)
    torch.save(states.state_dict(), tmp_path / "state")
    drawn = [(random.random(), np.random.normal(), float(torch.rand(1))) for _ in range(3)]
    resumed = RandomState()
    resumed.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    resumed.on_train_batch_start(None, None, None, 0)
    assert [(random.random(), np.random.normal(), float(torch.rand(1))) for _ in range(3)] == drawn


@pytest.mark.parametrize("seen", [0, 1, 3])
def test_a_run_resumes_although_other_gpus_are_visible(monkeypatch, seen):
    """A plain run sees all GPUs of a machine, a child of a sweep one."""
    restored = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: seen > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: seen)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [torch.tensor(0), torch.tensor(1)])
    monkeypatch.setattr(torch.cuda.random, "set_rng_state", lambda state, gpu: restored.append((gpu, int(state))))
    states = RandomState()
    states.on_train_epoch_end(None, None)
    states.state.setdefault("cuda", torch.cuda.get_rng_state_all())
    states.on_train_batch_start(None, None, None, 0)
    assert restored == [(0, 0), (1, 1)][:seen]


@pytest.mark.parametrize(
    ("examples", "free", "advice"),
    [
        (32, 6, r"^Give task.training.batch=8 or less: a step of 32 examples needs 40.0 GiB at least, and has 10.0.$"),
        (32, 60, "^Give task.training.batch=31 or less: "),  # there is room, in pieces that are too small
        (3, 6, "^Take a GPU with more memory: "),
    ],
)
def test_a_step_that_fills_a_gpu_says_how_many_examples_fit(monkeypatch, examples, free, advice):
    """Numbers of a pretended GPU, in GiB: 2 allocated before the step, 22 when it asks for 20 more, 6 reserved."""
    allocated = iter([2, 22])
    monkeypatch.setattr(HeadTraining, "device", torch.device("cuda"))
    for name, value in {
        "memory_allocated": lambda *_: next(allocated) * 2**30,
        "memory_reserved": lambda *_: 6 * 2**30,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(callbacks, "free_gpu_memory", lambda _: free * 2**30)
    module = head_training(None)

    def full(_batch):
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79 GiB"
        )

    module.head.loss = full
    train = DataLoader([{"numbers": [0] * examples, "token count": 2}], batch_size=None)
    with pytest.raises(torch.OutOfMemoryError) as caught:
        fit(module, train, batches(1), epochs=1, callbacks=[GpuMemory()])
    [said] = caught.value.__notes__
    assert re.match(advice, said)
