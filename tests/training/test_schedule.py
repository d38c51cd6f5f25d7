"""The learning rate's schedule: stepped every so many steps, or by dev's score; kept with a checkpoint."""

import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import build, choices, compose
from elmo_bench.training.module import HeadTraining
from elmo_bench.training.quiet import quiet

STEPS = 7  # of an epoch; the schedule's steps fall between


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.embedder = type("Embedder", (), {"regularisation": lambda self: torch.zeros(())})()

    def loss(self, batch):
        return self.weight.square()

    def predict(self, batch):
        return [0]


class Rates(pl.Callback):
    def __init__(self):
        self.rates = []

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])


class Metric:
    """Gives these scores, one after the other."""

    main = "accuracy"

    def __init__(self, scores):
        self.scores = iter(scores)

    def score(self, gold, predicted):
        return {"overall": {"accuracy": next(self.scores)}}


def module(schedule, scores=()):
    def sgd(parameters):
        return torch.optim.SGD(parameters, lr=1.0)

    return HeadTraining(Head(), Metric(scores), optimizer=sgd, gold={"dev": [0]}, schedule=schedule)


def rates(schedule, folder, *, epochs, resume=None, scores=None):
    """The learning rate of each step; leaves the checkpoint last.ckpt."""
    seen = Rates()
    trainer = pl.Trainer(
        accelerator="cpu", max_epochs=epochs, logger=False, enable_checkpointing=False, callbacks=[seen],
        enable_progress_bar=False, enable_model_summary=False, limit_val_batches=1 if scores else 0,
        num_sanity_val_steps=0,
    )  # fmt: skip
    last = pl.callbacks.ModelCheckpoint(folder, "last", save_on_train_epoch_end=True, enable_version_counter=False)
    trainer.callbacks.append(last)  # as a run keeps it: before Lightning's own step of an epoch's scheduler
    loader = DataLoader([{"numbers": [0]}] * STEPS, batch_size=None)
    trained = module(schedule, scores or ())
    with quiet():
        trainer.fit(trained, loader, loader, ckpt_path=resume, weights_only=True)
        if scores:
            trained.metric = Metric([0.0])
            trainer.validate(trained, loader, verbose=False)
            assert trainer.optimizers[0].param_groups[0]["lr"] >= seen.rates[-1] / 2
    return seen.rates


def test_it_steps_every_so_many_steps_whatever_the_epoch(tmp_path):
    schedule = {"every": 5, "scheduler": lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)}
    wanted = [0.5 ** (step // 5) for step in range(4 * STEPS)]
    assert rates(schedule, tmp_path, epochs=4) == pytest.approx(wanted)
    before = rates(schedule, tmp_path, epochs=2)
    after = rates(schedule, tmp_path, epochs=4, resume=tmp_path / "last.ckpt")
    assert before + after == pytest.approx(wanted)
    assert rates(None, tmp_path, epochs=1) == [1.0] * STEPS


def test_it_steps_by_devs_score_where_the_paper_halves_the_rate(tmp_path):
    schedule = build(compose("config", ["task=snli"]).task.training.schedule)
    scores = [50.0, 60.0, 60.0, 59.0, 70.0, 70.0]
    wanted = [rate for rate in (1.0, 1.0, 1.0, 0.5, 0.25, 0.25) for _ in range(STEPS)]
    assert rates(schedule, tmp_path, epochs=6, scores=scores) == pytest.approx(wanted)
    before = rates(schedule, tmp_path, epochs=3, scores=scores[:3])
    after = rates(schedule, tmp_path, epochs=6, scores=scores[3:], resume=tmp_path / "last.ckpt")
    assert before + after == pytest.approx(wanted)


def test_the_config_makes_it():
    given = {
        task: schedule.every
        for task in choices("task")
        if (schedule := compose("config", [f"task={task}"]).task.training.get("schedule"))
    }
    assert given == {"coref": 100, "snli": "epoch"}
    schedule = build(compose("config", ["task=coref"]).task.training.schedule)
    made = module(schedule).configure_optimizers()
    scheduler = made["lr_scheduler"]["scheduler"]
    assert (type(scheduler).__name__, scheduler.gamma, schedule["every"]) == ("ExponentialLR", 0.999, 100)
    assert scheduler.optimizer is made["optimizer"]


@pytest.mark.parametrize("every", [0, -3, 1.5, None, "batch"])
def test_a_wrong_number_of_steps_is_one_line(every):
    with pytest.raises(UserError, match=r"^task.training.schedule.every=.*: give a number of steps from 1, or epoch$"):
        module({"every": every, "scheduler": None}).configure_optimizers()


def test_a_scheduler_with_a_wrong_option_is_one_line():
    with pytest.raises(UserError, match=r"see task.training.schedule$"):
        module({"every": 1, "scheduler": lambda _: torch.optim.lr_scheduler.StepLR()}).configure_optimizers()
