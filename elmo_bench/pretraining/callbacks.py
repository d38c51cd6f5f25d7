"""Lightning callbacks that show a training and keep its curve and checkpoints."""

import time
from pathlib import Path
from typing import Any

import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO
from pytorch_lightning.callbacks import Callback

from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import progress
from elmo_bench.pretraining.training import COLUMNS, Curve, checkpoint_path, checkpoints, drop_old


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


class WholeCheckpoints(TorchCheckpointIO):
    """Writes checkpoints atomically. A full disk raises UserError."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path, storage_options: Any = None) -> None:
        with atomic_write(Path(path)) as file:
            torch.save(checkpoint, file)
