"""A head of one number, a metric that gives the scores it is told, and a training of a module in a moment."""

import numpy as np
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader

from elmo_bench.training.module import HeadTraining
from elmo_bench.training.quiet import quiet


class Mix:
    def report(self):
        return {"weights": [0.25, 0.75], "gamma": 1.0}


class Head(nn.Module):
    """Its loss is the number of its training steps so far."""

    def __init__(self, steps):
        super().__init__()
        self.weight, self.steps = nn.Parameter(torch.ones(())), steps
        self.embedder = type(
            "Embedder", (), {"mixes": {"input": Mix()}, "tuned": None, "regularisation": lambda _: torch.zeros(())}
        )()

    def loss(self, batch):
        self.steps += 1
        return self.weight * 0 + self.steps

    def predict(self, batch):
        return [0]


class Metric:
    """Gives these scores, one after the other."""

    main = "f1"

    def __init__(self, scores):
        self.scores = iter(scores)

    def counts(self, gold, predicted):
        return {"correct": np.ones(len(gold), int)}

    def figures(self, sums):
        return {"f1": next(self.scores)}


def head_training(schedule, scores=(), *, optimiser="sgd", steps=0):
    """A training of such a head, which has made so many steps."""
    options = {"name": optimiser, "lr": 1.0}
    return HeadTraining(Head(steps), Metric(scores), options, gold={"dev": [0]}, schedule=schedule)


def batches(count):
    """A loader of batches for such a head."""
    return DataLoader([{"numbers": [0], "token count": 2}] * count, batch_size=None)


def fit(module, train, dev, *, callbacks, epochs, resume=None, **more):
    """The trainer, after training."""
    with quiet():
        trainer = pl.Trainer(
            accelerator="cpu", max_epochs=epochs, callbacks=callbacks, num_sanity_val_steps=0,
            enable_progress_bar=False, enable_model_summary=False, **{"logger": False} | more,
        )  # fmt: skip
        trainer.fit(module, train, dev, ckpt_path=resume, weights_only=True)
    return trainer


def last(folder):
    """Keeps last.ckpt in a folder, as a run does: before Lightning's own step of an epoch's scheduler."""
    return pl.callbacks.ModelCheckpoint(folder, "last", save_on_train_epoch_end=True, enable_version_counter=False)
