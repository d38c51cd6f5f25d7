"""The history of a run: curves by epoch, costs, both across a kill."""

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader

from elmo_bench.base.files import read_checkpoint
from elmo_bench.base.progress import Clock
from elmo_bench.training.callbacks import Checkpoints, History
from elmo_bench.training.module import HeadTraining
from elmo_bench.training.quiet import quiet

STEPS = 3
SCORES = (50.0, 70.0, 70.0, 60.0)


class Text:
    mask = torch.tensor([[True, True, False]])


class Mix:
    def report(self):
        return {"weights": [0.25, 0.75], "gamma": 1.0}


class Head(nn.Module):
    """Its loss is the number of its training steps so far."""

    def __init__(self, steps):
        super().__init__()
        self.weight, self.steps = nn.Parameter(torch.zeros(())), steps
        self.embedder = type("Embedder", (), {"mixes": {"input": Mix()}, "regularisation": lambda _: torch.zeros(())})()

    def loss(self, batch):
        self.steps += 1
        return self.weight * 0 + self.steps

    def predict(self, batch):
        return [0]


class Metric:
    main = "f1"

    def __init__(self, scores):
        self.scores = iter(scores)

    def score(self, gold, predicted):
        return {"overall": {"f1": next(self.scores)}}


def run(folder, *, epochs, done=0, logger=None):
    history = History(Clock().start())
    schedule = {"name": "exponential", "gamma": 0.5, "every": STEPS}
    metric = Metric(SCORES[done:])
    module = HeadTraining(Head(done * STEPS), metric, {"name": "sgd", "lr": 1.0}, {"dev": [0]}, schedule)
    batches = [{"numbers": [0], "text": Text(), "other": 1}] * STEPS
    with quiet():
        pl.Trainer(
            accelerator="cpu", max_epochs=epochs, logger=logger, default_root_dir=folder,
            callbacks=[history, Checkpoints(folder, history)], num_sanity_val_steps=0,
            enable_progress_bar=False, enable_model_summary=False, limit_val_batches=1,
        ).fit(
            module, DataLoader(batches, batch_size=None), DataLoader(batches, batch_size=None),
            ckpt_path=folder / "last.ckpt" if done else None, weights_only=True,
        )  # fmt: skip
    return history


def test_curves_costs_and_mixes_by_epoch(tmp_path):
    history = run(tmp_path, epochs=4)
    assert history.scores == history.curves["dev"] == list(SCORES)
    assert history.curves["train_loss"] == [2, 5, 8, 11]
    assert history.curves["lr"] == [1, 0.5, 0.25, 0.125]
    assert history.curves["steps"] == [STEPS] * 4
    assert history.best_epoch == 2
    assert history.tokens == 4 * STEPS * 2
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
    assert after.curves["steps"] == [STEPS] * 4
    assert after.curves["seconds"][:2] == before.curves["seconds"]
    assert after.tokens == 2 * before.tokens
    for name in ("whole", "training"):
        [wall, cpu], [wall_before, cpu_before] = getattr(after, name).read(), kept["clocks"][name]
        assert wall > wall_before > 0 and cpu > cpu_before > 0
