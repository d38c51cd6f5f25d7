"""What is shown and kept of a training while it runs."""

import csv
import time
from pathlib import Path
from typing import Any

import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO
from pytorch_lightning.callbacks import Callback

from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import progress

COLUMNS = ("step", "tokens", "forward", "backward", "rate")


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


class Curve(Callback):
    """`curve.csv`: the losses of every step, without a gap or a step twice however often the training was killed."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: list[list[Any]] = []

    def on_train_start(self, trainer, module) -> None:
        if not trainer.is_global_zero:
            return
        kept = []
        if self.path.exists():
            with self.path.open(encoding="utf-8", newline="") as file:
                kept = [row for row in list(csv.reader(file))[1:] if int(row[0]) <= trainer.global_step]
        with atomic_write(self.path, "w") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *kept])

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx) -> None:
        if not trainer.is_global_zero:
            return  # the curve is that of the first process
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
        if not self.rows:
            return
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(self.rows)
        self.rows = []


class Checkpoints(Callback):
    """`<step>.ckpt` every so many minutes and at the end; the newest two stay, as in bilm-tf."""

    def __init__(self, folder: Path, *, minutes: float):
        self.folder, self.seconds = folder, 60 * minutes

    def on_train_start(self, trainer, module) -> None:
        self.last = time.monotonic()
        for path in self._files():
            if trainer.is_global_zero and int(path.stem) > trainer.global_step:
                path.unlink()  # damaged: the training goes on from an older one

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx) -> None:
        if trainer.strategy.broadcast(time.monotonic() - self.last >= self.seconds):
            self._save(trainer)

    def on_train_end(self, trainer, module) -> None:
        self._save(trainer)

    def _save(self, trainer) -> None:
        trainer.save_checkpoint(self.folder / f"{trainer.global_step:08d}.ckpt")
        self.last = time.monotonic()
        if trainer.is_global_zero:
            for path in self._files()[:-2]:
                path.unlink()

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("*.ckpt"))


class WholeCheckpoints(TorchCheckpointIO):
    """A checkpoint is whole or not there, and a full disk ends in one line."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path, storage_options: Any = None) -> None:
        with atomic_write(Path(path)) as file:
            torch.save(checkpoint, file)
