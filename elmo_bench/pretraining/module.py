"""The language model under Lightning: LSTM states carried from window to window, curve and checkpoints."""

import math
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import progress
from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.model import State
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.stream import Batch, Position, Stream
from elmo_bench.pretraining.training import (
    COLUMNS,
    Clock,
    Curve,
    checkpoint_path,
    checkpoints,
    drop_old,
    optimiser,
    rate_factor,
)
from elmo_bench.pretraining.vocabulary import TargetVocabulary


class Meter(Callback):
    """Progress: step, tokens/s, loss, learning rate, time left."""

    def __init__(self, title: str):
        self.title = title
        self.loss: float | None = None

    def on_train_start(self, trainer, module) -> None:
        self.context = progress(self.title, total=trainer.max_steps, done=trainer.global_step)
        self.meter = self.context.__enter__()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx) -> None:
        loss = float(outputs["losses"].mean())
        self.loss = loss if self.loss is None else 0.99 * self.loss + 0.01 * loss
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        self.meter.advance(module.tokens, f"loss {self.loss:.3f}  lr {rate:.2e}")

    def teardown(self, trainer, module, stage) -> None:
        if hasattr(self, "context"):
            self.context.__exit__(None, None, None)


class CurveFile(Callback):
    """Writes the losses of every step to a curve, and every 50 steps to the logger. Only the first process writes."""

    def __init__(self, path: Path):
        self.curve = Curve(path, COLUMNS)
        self.rows: list[list[Any]] = []

    def on_train_start(self, trainer, module) -> None:
        if trainer.is_global_zero:
            self.curve.resume(trainer.global_step)

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx) -> None:
        if not trainer.is_global_zero:
            return
        forward, backward = outputs["losses"].tolist()
        rate = module.optimizers().param_groups[0]["lr"]
        step = trainer.global_step
        self.rows.append([step, step * module.tokens, f"{forward:.5f}", f"{backward:.5f}", f"{rate:.4g}"])
        if step % 50 == 0:
            if trainer.logger:
                trainer.logger.log_metrics({"forward": forward, "backward": backward, "rate": rate}, step)
            self._write()

    def on_save_checkpoint(self, trainer, module, checkpoint) -> None:
        self._write()

    def on_train_end(self, trainer, module) -> None:
        self._write()

    def _write(self) -> None:
        if self.rows:
            self.curve.add(self.rows)
        self.rows = []


class Checkpoints(Callback):
    """Saves a checkpoint every so many minutes and at the end."""

    def __init__(self, folder: Path, *, minutes: float):
        self.folder, self.seconds = folder, 60 * minutes

    def on_train_start(self, trainer, module) -> None:
        self.last = time.monotonic()
        for path in checkpoints(self.folder):
            if trainer.is_global_zero and int(path.stem) > trainer.global_step:
                path.unlink()  # damaged: the training resumes from an older one

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx) -> None:
        if trainer.strategy.broadcast(time.monotonic() - self.last >= self.seconds):
            self._save(trainer)

    def on_train_end(self, trainer, module) -> None:
        self._save(trainer)

    def _save(self, trainer) -> None:
        trainer.save_checkpoint(checkpoint_path(self.folder, trainer.global_step))
        self.last = time.monotonic()
        if trainer.is_global_zero:
            drop_old(self.folder)


class Pretraining(pl.LightningModule):
    """Trains `model` on a corpus by a recipe (`conf/recipe`); each process reads its share of the sentences.

    `cells` are the predictions of one pass, in each direction, and `weights` is the checksum of the weights that the
    model started from, if there are any. A checkpoint adds to Lightning's the position in the text and the LSTM states
    of every process, the seconds so far, and `weights`.
    """

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: TargetVocabulary,
        corpus: Corpus,
        recipe: DictConfig,
        *,
        cells: int,
        seed: int,
        processes: int,
        weights: str | None = None,
    ):
        super().__init__()
        self.weights = weights
        self.model, self.vocabulary, self.corpus, self.recipe = model, vocabulary, corpus, recipe
        self.cells, self.seed, self.processes = cells, seed, processes
        self.states: list[State] | None = None
        self.position: Position | None = None  # in the text, after the last step
        self.clock = Clock()

    @property
    def steps(self) -> int:
        """Of the whole training: `recipe.steps`, or the steps of its epochs."""
        if self.recipe.steps is not None:
            return self.recipe.steps
        return max(1, math.ceil(self.recipe.epochs * self.cells / self.tokens))

    @property
    def tokens(self) -> int:
        """Words that a step reads, in each direction, over all processes."""
        return self.recipe.rows * self.recipe.window * self.processes

    def stream(self, *, rank: int, position: Position | None = None) -> Stream:
        """The windows that a process reads."""
        recipe = self.recipe
        return Stream(
            self.corpus,
            self.vocabulary,
            rows=recipe.rows,
            steps=recipe.window,
            seed=self.seed,
            shared=recipe.shared,
            rank=rank,
            world=self.processes,
            position=position,
        )

    def train_dataloader(self) -> Stream:
        self.clock.start()
        return self.stream(rank=self.global_rank, position=self.position)

    def training_step(self, batch: Batch, _index: int) -> dict[str, Tensor]:
        # The draws of a step depend on nothing before it.
        torch.manual_seed((self.seed * 1_000_003 + self.global_step) * self.processes + self.global_rank)
        ids, words, targets, keep = (
            torch.as_tensor(array, device=self.device) for array in (batch.ids, batch.words, batch.targets, batch.keep)
        )
        _, steps, rows = words.shape
        carried = self.states or zero_states(self.model.bilm.options, rows, keep)
        states = [(h.to(self.device), c.to(self.device)) for h, c in carried]  # states of a checkpoint are on the CPU
        top, states = self.model.features(ids, words, states, [rows] * steps, keep if self.recipe.reset else None)
        self.states, self.position = [(h.detach(), c.detach()) for h, c in states], batch.position
        losses = self.model.loss(top, targets)
        return {"loss": losses.mean() * self.recipe.loss_scale, "losses": losses.detach()}

    def configure_optimizers(self) -> Any:
        optimizer = optimiser(self.recipe.optimizer, self.parameters())
        warmup, steps, schedule = self.recipe.warmup, self.steps, self.recipe.schedule

        def rate(step: int) -> float:
            return rate_factor(schedule, step=step, warmup=warmup, done=min(1.0, step / steps))

        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, rate), "interval": "step"},
        }

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None) -> None:
        """Clip by the norm of all gradients. Raises UserError if it is not finite, before the step."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters(), self.recipe.clip)
        if not torch.isfinite(norm):
            raise UserError(
                f"step {self.global_step}: the gradient is not finite. The last checkpoint is good: resume from it "
                "with a lower recipe.optimizer.lr."
            )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        mine = {"position": self.position, "states": [(h.cpu(), c.cpu()) for h, c in self.states or []]}
        everyone: list[Any] = [mine]
        if self.processes > 1:
            everyone = [None] * self.processes
            torch.distributed.all_gather_object(everyone, mine)
        checkpoint["processes"], checkpoint["weights"] = everyone, self.weights
        checkpoint["seconds"], checkpoint["precision"] = self.clock.seconds, self.recipe.precision

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if (before := len(checkpoint["processes"])) != self.processes:
            raise UserError(
                f"devices was {before} and is {self.processes}. Resume with devices={before}, or give another out=."
            )
        if rate := self.recipe.optimizer.get("lr"):  # a lower one may have been given
            for group in checkpoint["optimizer_states"][0]["param_groups"]:
                group["lr"] *= rate / group["initial_lr"]
                group["initial_lr"] = rate
            schedule = checkpoint["lr_schedulers"][0]
            schedule["base_lrs"] = [rate for _ in schedule["base_lrs"]]
        mine = checkpoint["processes"][self.global_rank]
        self.position, self.clock.before = mine["position"], checkpoint["seconds"]
        self.states = [(h, c) for h, c in mine["states"]] or None

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        return batch
