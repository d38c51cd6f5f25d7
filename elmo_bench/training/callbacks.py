"""What happens around the epochs: random state, layer weights, progress."""

import random
import time
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn

from elmo_bench.base.progress import Meter, progress


class RandomState(Callback):
    """Puts the state of the random generators into the checkpoint: a resumed run draws what it would have drawn.

    The state is taken when an epoch's training ends and put back at the next one's first batch, in every run: what
    happens between (scoring, building loaders, whose iterators draw a number) then cannot make a resumed run differ.
    """

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def on_train_epoch_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._take()

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, batch_idx: int) -> None:
        if self.state and batch_idx == 0:
            version, internal, gauss = self.state["python"]
            random.setstate((version, tuple(internal), gauss))
            torch.set_rng_state(self.state["torch"])
            if torch.cuda.is_available():
                torch.cuda.set_rng_state_all(self.state["cuda"])

    def state_dict(self) -> dict[str, Any]:
        return self.state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.state = state

    def _take(self) -> None:
        version, internal, gauss = random.getstate()
        self.state = {"torch": torch.get_rng_state(), "python": [version, list(internal), gauss]}
        if torch.cuda.is_available():
            self.state["cuda"] = torch.cuda.get_rng_state_all()


class History(Callback):
    """Epoch by epoch the dev score and each mix's weights; and what the run took, over kills and resumptions."""

    def __init__(self, started: float) -> None:
        self.started = started  # of this process's part, time.monotonic()
        self.before = 0.0  # seconds of the parts before
        self.encoding = 0.0  # seconds spent on frozen layers in this part
        self.scores: list[float] = []
        self.losses: list[float] = []  # mean over the epoch
        self.rates: list[float] = []  # learning rate of the epoch's last step
        self.epochs: list[float] = []  # seconds of each epoch, with its scoring of dev
        self.mixes: list[dict[str, Any]] = []
        self.tokens, self.seconds = 0, 0.0  # read in training steps, and their time

    @property
    def elapsed(self) -> float:
        """Seconds since the run first began, the time between a kill and the resumption left out."""
        return self.before + time.monotonic() - self.started

    @property
    def curves(self) -> dict[str, list[float]]:
        """One number an epoch, as a record holds them."""
        seconds = [round(value, 2) for value in self.epochs]
        return {"dev": self.scores, "train_loss": self.losses, "lr": self.rates, "seconds": seconds}

    @property
    def best_epoch(self) -> int:
        """From 1; the first of equals, as Lightning's ModelCheckpoint keeps it."""
        return self.scores.index(max(self.scores)) + 1

    def on_train_epoch_start(self, trainer: pl.Trainer, module: Any) -> None:
        self.epoch_started = time.monotonic()

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        self.rate = float(trainer.optimizers[0].param_groups[0]["lr"])

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.tokens += count_tokens(batch)

    def on_validation_start(self, trainer: pl.Trainer, module: Any) -> None:
        if trainer.state.fn == TrainerFn.FITTING:
            self.seconds += time.monotonic() - self.epoch_started

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        self.scores.append(float(module.scores["overall"][module.metric.main]))
        self.losses.append(float(trainer.callback_metrics["loss"]))
        self.rates.append(self.rate)
        self.epochs.append(time.monotonic() - self.epoch_started)
        mixes = module.head.embedder.mixes
        if mixes:
            self.mixes.append({place: mix.report() for place, mix in mixes.items()})

    def state_dict(self) -> dict[str, Any]:
        names = ("scores", "losses", "rates", "epochs", "mixes", "tokens", "seconds")
        kept = {name: getattr(self, name) for name in names}
        return {**kept, "before": self.elapsed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


class ShowProgress(Callback):
    """A bar over the steps of all epochs; a line with loss and dev score after each epoch."""

    def __init__(self, title: str):
        self.title = title

    def on_train_start(self, trainer: pl.Trainer, module: Any) -> None:
        steps = int(trainer.num_training_batches) * (trainer.max_epochs or 1)
        self.context = progress(self.title, total=steps, done=trainer.global_step)
        self.meter: Meter = self.context.__enter__()

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.meter.advance(count_tokens(batch), f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}")

    def on_train_epoch_end(self, trainer: pl.Trainer, module: Any) -> None:
        name = module.metric.main
        self.meter.say(
            f"{self.title}  epoch {trainer.current_epoch + 1:>3}/{trainer.max_epochs}  "
            f"loss {trainer.callback_metrics['loss']:.3f}  "
            f"dev {name} {module.scores['overall'][name]:.2f}  {self.meter.tokens_per_second:,.0f} tokens/s"
        )

    def teardown(self, trainer: pl.Trainer, module: Any, stage: str) -> None:
        if hasattr(self, "context"):
            self.context.__exit__(None, None, None)
            del self.context


def count_tokens(batch: dict[str, Any]) -> int:
    """Words in a batch, over all its texts."""
    return sum(int(part.mask.sum()) for part in batch.values() if hasattr(part, "mask"))
