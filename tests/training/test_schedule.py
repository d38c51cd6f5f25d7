"""Schedules by name: steps, dev scores, checkpoints, and what a wrong option says."""

import pytest
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import compose
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

    def on_before_optimizer_step(self, trainer, module, optimizer):
        self.rates.append(optimizer.param_groups[0]["lr"])


class Metric:
    """Gives these scores, one after the other."""

    main = "accuracy"

    def __init__(self, scores):
        self.scores = iter(scores)

    def score(self, gold, predicted):
        return {"overall": {"accuracy": next(self.scores)}}


def module(schedule, scores=(), optimiser="sgd"):
    return HeadTraining(Head(), Metric(scores), {"name": optimiser, "lr": 1.0}, gold={"dev": [0]}, schedule=schedule)


class Kill(pl.Callback):
    """Ends training after so many epochs, as a kill would."""

    def __init__(self, after):
        self.after = after

    def on_train_epoch_end(self, trainer, module):
        trainer.should_stop = trainer.current_epoch + 1 == self.after


def rates(schedule, folder, *, epochs, kill=None, resume=None, scores=None, optimiser="sgd"):
    """The learning rate of each step; leaves the checkpoint last.ckpt."""
    seen = Rates()
    trainer = pl.Trainer(
        accelerator="cpu", max_epochs=epochs, logger=False, enable_checkpointing=False, callbacks=[seen, Kill(kill)],
        enable_progress_bar=False, enable_model_summary=False, limit_val_batches=1 if scores else 0,
        num_sanity_val_steps=0,
    )  # fmt: skip
    last = pl.callbacks.ModelCheckpoint(folder, "last", save_on_train_epoch_end=True, enable_version_counter=False)
    trainer.callbacks.append(last)  # as a run keeps it: before Lightning's own step of an epoch's scheduler
    loader = DataLoader([{"numbers": [0]}] * STEPS, batch_size=None)
    trained = module(schedule, scores or (), optimiser)
    with quiet():
        trainer.fit(trained, loader, loader, ckpt_path=resume, weights_only=True)
        if scores:
            trained.metric = Metric([0.0])
            trainer.validate(trained, loader, verbose=False)
            assert trainer.optimizers[0].param_groups[0]["lr"] >= seen.rates[-1] / 2
    return seen.rates


def test_it_steps_every_so_many_steps_whatever_the_epoch(tmp_path):
    schedule = {"name": "exponential", "every": 5, "gamma": 0.5}
    wanted = [0.5 ** (step // 5) for step in range(4 * STEPS)]
    assert rates(schedule, tmp_path, epochs=4) == pytest.approx(wanted)
    before = rates(schedule, tmp_path, epochs=2)
    after = rates(schedule, tmp_path, epochs=4, resume=tmp_path / "last.ckpt")
    assert before + after == pytest.approx(wanted)
    assert rates(None, tmp_path, epochs=1) == [1.0] * STEPS


def test_it_steps_by_devs_score_where_the_paper_halves_the_rate(tmp_path):
    schedule = compose("config", ["task=snli", "size=paper"]).task.training.schedule
    scores = [50.0, 60.0, 60.0, 59.0, 70.0, 70.0]
    wanted = [rate for rate in (1.0, 1.0, 1.0, 0.5, 0.25, 0.25) for _ in range(STEPS)]
    assert rates(schedule, tmp_path, epochs=6, scores=scores) == pytest.approx(wanted)
    before = rates(schedule, tmp_path, epochs=3, scores=scores[:3])
    after = rates(schedule, tmp_path, epochs=6, scores=scores[3:], resume=tmp_path / "last.ckpt")
    assert before + after == pytest.approx(wanted)


@pytest.mark.parametrize("optimiser", ["adam", "adadelta"])
def test_the_rate_falls_linearly_to_zero_over_all_epochs_also_across_a_kill(tmp_path, optimiser):
    schedule = compose("config", ["task=ner"]).task.training.schedule
    wanted = [1 - step / (4 * STEPS) for step in range(4 * STEPS)]
    assert rates(schedule, tmp_path, epochs=4, optimiser=optimiser) == pytest.approx(wanted)
    whole = rates(schedule, tmp_path, epochs=4, kill=2, optimiser=optimiser)
    whole += rates(schedule, tmp_path, epochs=4, resume=tmp_path / "last.ckpt", optimiser=optimiser)
    assert whole == pytest.approx(wanted)


def test_a_score_of_0_is_no_plateau(tmp_path):
    schedule = compose("config", ["task=snli", "size=paper"]).task.training.schedule
    wanted = [rate for rate in (1.0,) * 7 + (0.5, 0.5) for _ in range(STEPS)]
    assert rates(schedule, tmp_path, epochs=9, scores=[0.0] * 5 + [1.0, 0.5, 1.5, 2.0]) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"name": "exponential", "gamma": 0.9, "every": every}, f"every={every}: not a number")
            for every in (0, 1.5)
        ),
        ({"name": "line", "every": 5}, ".name=line: unknown name. Choose one of: cosine, exponential, linear, "),
        ({"name": "linear", "every": 5}, ".every: linear has no options. Remove it."),
        ({"name": "step", "every": 5, "gama": 0.9}, ": .*gama.* Check its options for step."),
    ],
)
def test_a_schedule_that_does_not_fit_is_one_line(options, message):
    with pytest.raises(UserError, match=rf"^task\.training\.schedule\.?{message}"):
        module(options).configure_optimizers()
