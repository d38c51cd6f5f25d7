"""Schedules by name: steps, dev scores, checkpoints, and what a wrong option says."""

import pytest
import pytorch_lightning as pl
import torch

from elmo_bench.base.errors import UserError
from elmo_bench.spec.config import compose
from elmo_bench.training.optimisers import OPTIMISERS, construct
from elmo_bench.training.quiet import quiet
from tests.training.trainings import Metric, batches, fit, head_training, last

STEPS = 7  # of an epoch; the schedule's steps fall between


class Rates(pl.Callback):
    """The rate of every step; ends training after so many epochs, as a kill would."""

    def __init__(self, kill):
        self.rates, self.kill = [], kill

    def on_before_optimizer_step(self, trainer, module, optimizer):
        self.rates.append(optimizer.param_groups[0]["lr"])

    def on_train_epoch_end(self, trainer, module):
        trainer.should_stop = trainer.current_epoch + 1 == self.kill


def rates(schedule, folder, *, epochs, kill=None, resume=None, scores=None, optimiser="sgd"):
    """The learning rate of each step; leaves the checkpoint last.ckpt."""
    seen, module = Rates(kill), head_training(schedule, scores or (), optimiser=optimiser)
    few = {"limit_val_batches": 1 if scores else 0}
    trainer = fit(
        module, batches(STEPS), batches(1), epochs=epochs, resume=resume, callbacks=[seen, last(folder)], **few
    )
    if scores:
        module.metric = Metric([0.0])
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        with quiet():
            trainer.validate(module, batches(1), verbose=False)
        assert trainer.optimizers[0].param_groups[0]["lr"] == rate
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
            ({"name": "exponential", "gamma": 0.9, "every": every}, f"every={every}: for plateau give epoch, else")
            for every in (0, 1.5)
        ),
        ({"name": "line", "every": 5}, ".name=line: unknown name. Choose one of: cosine, exponential, linear, "),
        ({"name": ["line"]}, r".name=\['line'\]: unknown name."),
        ({"name": "linear", "every": 5}, ".every: linear has no options. Remove it."),
        ({"name": "step", "every": 5, "gama": 0.9}, ": .*gama.* Check its options for step."),
        ({"name": "step", "every": 5, "step_size": 0}, ".step_size=0: give a whole number from 1."),
        ({"name": "cosine", "every": 5, "T_max": 1.5}, ".T_max=1.5: give a whole number from 1."),
        ({"name": "exponential", "every": 5, "gamma": "x"}, ".gamma=x: give a number."),
        ({"name": "plateau", "every": "epoch", "patience": "x"}, ".patience=x: give a number."),
        *(
            ({"name": "plateau", "every": "epoch", key: value}, f".{key}={value}: not an option of a run. Remove it.")
            for key, value in (("last_epoch", 3), ("mode", "min"), ("threshold_mode", "abs"))
        ),
        ({"name": "exponential", "every": True, "gamma": 0.5}, ".every=True: for plateau give epoch, else"),
    ],
)
def test_a_schedule_that_does_not_fit_is_one_line(options, message):
    with pytest.raises(UserError, match=rf"^task\.training\.schedule\.?{message}"):
        head_training(options).configure_optimizers()


@pytest.mark.parametrize(
    "options",
    [
        {"name": "adam", "foreach": True},
        {"name": "adamw", "betas": [0.9]},
        {"name": "adadelta", "rho": 2},
        {"name": "adadelta", "eps": "x"},
    ],
)
def test_an_optimiser_that_does_not_fit_is_one_line(options):
    with pytest.raises(UserError, match=rf"^optimizer: .* Check its options for {options['name']}\.$"):
        construct("optimizer", OPTIMISERS, options, [torch.nn.Parameter(torch.zeros(2))])
