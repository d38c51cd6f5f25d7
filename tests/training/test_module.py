"""A training step reads no number back, for which a GPU would be waited for, and still notices a loss that is none."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import Clock
from elmo_bench.training.callbacks import Checkpoints, History, ShowProgress
from elmo_bench.training.random_state import RandomState
from tests.training.trainings import batches, fit, head_training


class Reads(TorchDispatchMode):
    """Counts the operations that give Python a number of a tensor."""

    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += operation in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default)
        return operation(*args, **(kwargs or {}))


def reads(steps, optimiser, folder):
    history = History(Clock().start())
    callbacks = [RandomState(), history, ShowProgress("a run"), Checkpoints(folder, history)]
    with Reads() as seen:
        fit(head_training(None, [1.0], optimiser=optimiser), batches(steps), batches(1), callbacks=callbacks, epochs=1)
    assert history.tokens == 2 * steps
    return seen.count


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_more_steps_are_no_more_reads(optimiser, tmp_path):
    assert reads(3, optimiser, tmp_path) == reads(90, optimiser, tmp_path) > 0


@pytest.mark.parametrize("score", [-0.1, 100.5, float("nan")])
def test_a_main_figure_that_no_record_can_have_ends_the_training_after_an_epoch(score):
    module = head_training(None, [score, 1.0])
    said = rf"Metric.figures: 'f1', the main figure, is {score}. Give a number from 0 to 100"
    with pytest.raises(UserError, match=said):
        fit(module, batches(1), batches(1), callbacks=[], epochs=2)
    assert module.current_epoch == 0


@pytest.mark.parametrize(("bad", "mean"), [("nan", "nan"), ("inf", "inf"), ("-inf", "-inf"), ("3.25e+32", "4.64")])
def test_one_loss_that_is_no_use_ends_the_training_before_the_epoch_is_scored(bad, mean):
    module = head_training(None)
    module.head.loss = lambda batch: module.head.weight + (float(bad) if module.global_step == 2 else 1)
    said = rf"epoch 1, by step 6: the epoch's mean loss is {mean}.*\. Lower task\.training\.optim"
    with pytest.raises(UserError, match=said):
        fit(module, batches(7), batches(1), callbacks=[], epochs=1)
