"""The training loop of a masked language model.

A step depends only on the seed, its number and the weights: the order of the rows comes from (seed, pass), the masks
come from (seed, step). So a checkpoint holds no random state, and a resumed training gives the curve of one that was
never killed.
"""

import csv
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor

from elmo_bench.base.checkpoints import read_checkpoint
from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import Meter, console, progress
from elmo_bench.pretraining.masked.masking import Batch, mask_words
from elmo_bench.pretraining.masked.model import Loss, MaskedLoss, compiled, heldout_loss

CURVE = ("step", "pieces", "loss", "rate", "seconds")
KEPT = 2  # checkpoints


class Training:
    """A model in training, with its optimizer and all rows on one device."""

    def __init__(self, model: Any, rows: Tensor, heldout: Mapping[str, Tensor], config: DictConfig):
        """`rows` int16 [R, T] as `text.rows_of` makes them; `heldout`: rows by kind."""
        self.config, self.out = config, Path(config.out)
        self.device = torch.device("cuda" if config.accelerator == "gpu" else "cpu")
        self.model = model.to(self.device).train()
        self.loss = MaskedLoss(self.model)
        self.rows = rows.to(self.device)
        self.heldout = {name: each.to(self.device) for name, each in heldout.items()}
        self.optimizer = _optimizer(self.model, config)
        self.steps, self.pieces, self.before = 0, 0, 0.0  # so far; seconds of the runs before this one
        self.started: float | None = None
        self.batches = max(1, len(rows) // config.batch)  # in a pass

    @property
    def seconds(self) -> float:
        """Spent in training, resumed runs and compilation included."""
        return self.before + (time.monotonic() - self.started if self.started else 0.0)

    @property
    def done(self) -> float:
        """The fraction of the training that is over."""
        if self.config.steps:
            return min(1.0, self.steps / self.config.steps)
        return min(1.0, self.seconds / (60 * self.config.minutes))

    @property
    def passes(self) -> float:
        """Over the text; a sentence is read twice in each pass over the rows."""
        return 2 * self.steps / self.batches

    def autocast(self) -> Any:
        """Products in bfloat16, unless precision=float32."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.config.precision == "bf16" else nullcontext()

    def run(self, save: Callable[[], None]) -> None:
        """Train until the end, resuming from the newest checkpoint; `save` is called at each checkpoint and the end.

        Raises UserError if the loss becomes NaN. The last checkpoint stays.
        """
        self._resume()
        self.started = time.monotonic()
        batches = self._batches()
        loss: Loss = self.loss
        if self.config.compile:
            loss = compiled(self.loss, self._masked(self.rows[: self.config.batch], 0), self.autocast)
            console.print(f"compiled after {self.seconds - self.before:.0f} s", highlight=False)
        saved = measured = self.seconds
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)  # losses, pieces since the last log
        since = 0
        with progress("pretrain-masked", total=self.config.steps, done=self.steps) as meter:
            while self.done < 1:
                batch = next(batches)
                rate = self._step(loss, batch, sums)
                since += 1
                last = self.done >= 1
                if self.steps % self.config.log_steps == 0 or last:
                    self._log(sums, since, rate, meter)
                    since = 0
                if last or self.seconds - measured > 60 * self.config.heldout_minutes:
                    self._measure(meter)
                    measured = self.seconds
                if last or (self.seconds - saved > 60 * self.config.checkpoint_minutes and not since):
                    self._checkpoint()
                    save()
                    saved = self.seconds
        self.before, self.started = self.seconds, None
        save()

    def measure(self) -> dict[str, float]:
        """The held-out loss of each kind of rows."""
        return {
            name: heldout_loss(
                self.loss,
                rows,
                batch=self.config.batch,
                share=self.config.share,
                vocabulary=self.config.vocabulary,
                autocast=self.autocast,
            )
            for name, rows in self.heldout.items()
        }

    def _batches(self) -> Iterator[Tensor]:
        """Rows [B, T] of each step from here on."""
        while True:
            turn, first = divmod(self.steps, self.batches)
            generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + turn)
            order = torch.randperm(len(self.rows), generator=generator).to(self.device)
            for number in range(first, self.batches):
                yield self.rows[order[number * self.config.batch : (number + 1) * self.config.batch]]

    def _masked(self, rows: Tensor, step: int) -> Batch:
        generator = torch.Generator(self.device).manual_seed((self.config.seed << 32) + step)
        return mask_words(rows, share=self.config.share, vocabulary=self.config.vocabulary, generator=generator)

    def _step(self, loss: Loss, rows: Tensor, sums: Tensor) -> float:
        """One step of the optimizer; its learning rate."""
        rate = self.config.learning_rate * min(1.0, (self.steps + 1) / self.config.warmup) * (1 - self.done)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with self.autocast():
            value = loss(**vars(self._masked(rows, self.steps)))
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        sums += torch.stack([value.detach().double(), (rows != 0).sum().double()])
        self.steps += 1
        return rate

    def _log(self, sums: Tensor, steps: int, rate: float, meter: Meter) -> None:
        total, pieces = sums.tolist()
        sums.zero_()
        loss = total / steps
        if math.isnan(loss):
            raise UserError(
                f"step {self.steps}: the loss is not a number. Remove {self.out} and give a lower learning_rate=."
            )
        self.pieces += int(pieces)
        _append(self.out / "curve.csv", [self.steps, self.pieces, f"{loss:.5f}", f"{rate:.4g}", f"{self.seconds:.1f}"])
        meter.advance(int(pieces), f"loss {loss:.3f}  lr {rate:.2e}  {self.done:.1%}", steps=steps)

    def _measure(self, meter: Meter) -> None:
        for name, loss in self.measure().items():
            _append(self.out / "heldout.csv", [self.steps, name, f"{loss:.5f}", f"{self.seconds:.1f}"])
            meter.say(f"step {self.steps}: held-out loss {loss:.4f} ({name})")

    def _checkpoint(self) -> None:
        folder = self.out / "checkpoints"
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        place = {"steps": self.steps, "pieces": self.pieces, "seconds": self.seconds}
        with atomic_write(folder / f"{self.steps:08d}.ckpt") as file:
            torch.save(state | place, file)
        for path in sorted(folder.glob("*.ckpt"))[:-KEPT]:
            path.unlink()

    def _resume(self) -> None:
        """From the newest checkpoint that can be read, if there is any; the curves are cut there."""
        paths = sorted((self.out / "checkpoints").glob("*.ckpt"), reverse=True)
        for number, path in enumerate(paths, start=1):
            try:
                state = read_checkpoint(path)
            except UserError as damaged:
                if number == len(paths):
                    raise
                console.print(f"{damaged} Trying the checkpoint before it.", highlight=False)
                continue
            try:
                self.model.load_state_dict(state["model"])
                self.optimizer.load_state_dict(state["optimizer"])
            except (RuntimeError, ValueError, KeyError):
                raise UserError(f"{path}: a model of another shape. Remove {self.out} or give another out=.") from None
            self.steps, self.pieces, self.before = state["steps"], state["pieces"], state["seconds"]
            console.print(f"resuming from {path}", highlight=False)
            break
        _cut(self.out / "curve.csv", CURVE, self.steps)
        _cut(self.out / "heldout.csv", ("step", "rows", "loss", "seconds"), self.steps)


def _optimizer(model: Any, config: DictConfig) -> torch.optim.Optimizer:
    matrices = [each for each in model.parameters() if each.ndim > 1]
    vectors = [each for each in model.parameters() if each.ndim == 1]
    return torch.optim.AdamW(
        [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=config.learning_rate,
        betas=tuple(config.betas),
        eps=config.epsilon,
        fused=True,
    )


def _append(path: Path, row: list[Any]) -> None:
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(row)


def _cut(path: Path, columns: tuple[str, ...], steps: int) -> None:
    """Keep the rows of the first `steps` steps of a curve, behind its columns."""
    kept: list[list[str]] = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            kept = [row for row in list(csv.reader(file))[1:] if int(row[0]) <= steps]
    with atomic_write(path, "w") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *kept])
