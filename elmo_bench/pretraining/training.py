"""What all trainings share: device, clock, learning rate, optimiser, curve files and checkpoints."""

import csv
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor, nn

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_checkpoint, write_checkpoint
from elmo_bench.base.progress import console
from elmo_bench.base.reading import reader
from elmo_bench.training.optimisers import OPTIMISERS, construct

KEPT = 2  # checkpoints, as in bilm-tf
COUNTED = ("recipe.rows", "recipe.window", "recipe.cells", "recipe.samples", "recipe.vocabulary", "recipe.steps",
           "devices", "fit_steps")  # fmt: skip
POSITIVE = ("recipe.epochs", "recipe.minutes", "recipe.clip")
COLUMNS = ("step", "tokens", "forward", "backward", "rate")  # of the curve of a biLM


def device_of(accelerator: str) -> str:
    """torch's name of `accelerator=cpu|gpu`. Raises UserError if the device is missing."""
    if accelerator not in ("cpu", "gpu"):
        raise UserError(f"accelerator={accelerator}: unknown. Choose cpu or gpu.")
    if accelerator == "gpu" and not torch.cuda.is_available():
        raise UserError("accelerator=gpu: no CUDA device here. Use accelerator=cpu.")
    return "cuda" if accelerator == "gpu" else "cpu"


def optimiser(options: DictConfig, parameters: Iterable[Any]) -> torch.optim.Optimizer:
    """The optimiser `recipe.optimizer`, by its name. `parameters` may be groups. Raises UserError."""
    plain: Any = OmegaConf.to_container(options, resolve=True)
    return construct("recipe.optimizer", OPTIMISERS, plain, list(parameters))


def check_numbers(config: DictConfig) -> None:
    """Raises UserError for a number that no training of a biLM can have; a number that is null or not there is fine."""
    for key in COUNTED + POSITIVE:
        value, kinds = OmegaConf.select(config, key), (int,) if key in COUNTED else (int, float)
        if value is not None and (not isinstance(value, kinds) or value <= 0):
            raise UserError(f"{key}={value}: give {'a whole number from 1' if key in COUNTED else 'a number above 0'}")
    if not isinstance(config.seed, int) or config.seed < 0:
        raise UserError(f"seed={config.seed}: give a whole number from 0")


def check_shape(path: Path, kept: Mapping[str, Tensor], model: nn.Module) -> None:
    """Raises UserError if a checkpoint has the tensors of another network or vocabulary."""
    if {name: tensor.shape for name, tensor in kept.items()} != {
        name: tensor.shape for name, tensor in model.state_dict().items()
    }:
        raise UserError(f"{path}: a model of another shape. Remove {path.parents[1]} or give another out=.")


def rate_factor(schedule: str, *, step: int, warmup: int, done: float) -> float:
    """The learning rate as a fraction of its highest value: a linear warm-up, then by `done`, the fraction behind.

    `constant` stays, `linear` falls to 0, `cosine` falls to a fiftieth. Raises UserError for other schedules.
    """
    up = min(1.0, (step + 1) / max(1, warmup))
    if schedule == "constant":
        return up
    if schedule == "linear":
        return up * (1 - done)
    if schedule == "cosine":
        return up * (0.02 + 0.49 * (1 + math.cos(math.pi * min(1.0, done))))
    raise UserError(f"recipe.schedule={schedule}: unknown. Choose constant, linear or cosine.")


class Clock:
    """Seconds of training, earlier runs included."""

    def __init__(self) -> None:
        self.before = 0.0
        self.started: float | None = None

    def start(self) -> None:
        """Count from now on, after `before` seconds of earlier runs."""
        self.started = time.monotonic()

    def stop(self) -> None:
        """Keep the seconds so far."""
        self.before, self.started = self.seconds, None

    @property
    def seconds(self) -> float:
        return self.before + (time.monotonic() - self.started if self.started is not None else 0.0)


class Curve:
    """A CSV file whose first column is the step. It has each step once, however often the training was killed."""

    def __init__(self, path: Path, columns: Sequence[str]):
        self.path, self.columns = path, columns

    @reader
    def resume(self, step: int) -> None:
        """Start the file, or keep its rows up to a step; a row that a kill cut off is dropped."""
        kept: list[list[str]] = []
        if self.path.exists():
            with self.path.open(encoding="utf-8", errors="replace", newline="") as file:
                rows = list(csv.reader(line.replace("\0", "") for line in file))[1:]
            kept = [
                row
                for row in rows
                if len(row) == len(self.columns) and re.fullmatch("[0-9]{1,18}", row[0]) and int(row[0]) <= step
            ]
        with atomic_write(self.path, "w") as file:
            csv.writer(file, lineterminator="\n").writerows([self.columns, *kept])

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Append rows."""
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a training, `<step>.ckpt`, oldest first."""
    return sorted(path for path in folder.glob("*.ckpt") if re.fullmatch("[0-9]{8,18}", path.stem))


def checkpoint_path(folder: Path, step: int) -> Path:
    """The file of a step's checkpoint."""
    return folder / f"{step:08d}.ckpt"


def save_checkpoint(folder: Path, step: int, state: Mapping[str, Any]) -> None:
    """Write a checkpoint atomically and drop all but the newest."""
    write_checkpoint(checkpoint_path(folder, step), state)
    drop_old(folder)


def drop_old(folder: Path) -> None:
    """Remove all checkpoints but the newest."""
    for path in checkpoints(folder)[:-KEPT]:
        path.unlink()


def newest_checkpoint(folder: Path) -> tuple[Path | None, Mapping[str, Any]]:
    """The newest checkpoint that can be read, and its contents; (None, {}) if there is none. Prints its name.

    Raises UserError if all of them are damaged: a long training must not start again silently.
    """
    paths = checkpoints(folder)
    while paths:
        path = paths.pop()
        try:
            state = read_checkpoint(path)
        except UserError as damaged:
            if not paths:
                raise
            console.print(f"{damaged} Trying the checkpoint before it.", highlight=False)
            continue
        console.print(f"resuming from {path} at step {int(path.stem)}", highlight=False)
        return path, state
    return None, {}
