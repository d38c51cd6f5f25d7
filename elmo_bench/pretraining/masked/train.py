"""The training loop of a masked language model.

A step depends only on the seed, its number and the weights: the order of the rows comes from (seed, pass), the masks
come from (seed, step). So a checkpoint holds no random state, and a resumed training gives the curve of one that was
never killed.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import Meter, console, progress
from elmo_bench.pretraining.masked.model import Batch, Loss, MaskedLoss, compiled, heldout_loss, mask_words
from elmo_bench.pretraining.precision import choose_precision
from elmo_bench.pretraining.training import (
    Clock,
    Curve,
    device_of,
    newest_checkpoint,
    rate_factor,
    save_checkpoint,
)

CURVE = ("step", "pieces", "loss", "rate", "seconds")
HELDOUT = ("step", "rows", "loss", "seconds")


class Training:
    """A model in training, with its optimizer and all rows on one device."""

    def __init__(self, model: Any, rows: Tensor, heldout: Mapping[str, Tensor], config: DictConfig):
        """`rows` int16 [R, T] as `text.rows_of` makes them; `heldout`: rows by kind."""
        self.config, self.out = config, Path(config.out)
        self.device = torch.device(device_of(config.accelerator))
        self.model = model.to(self.device).train()
        self.loss = MaskedLoss(self.model)
        self.rows = rows.to(self.device)
        self.heldout = {name: each.to(self.device) for name, each in heldout.items()}
        self.optimizer = _optimizer(self.model, config)
        self.steps, self.pieces, self.clock = 0, 0, Clock()
        self.curve, self.losses = Curve(self.out / "curve.csv", CURVE), Curve(self.out / "heldout.csv", HELDOUT)
        self.batches = max(1, len(rows) // config.batch)  # in a pass

    @property
    def done(self) -> float:
        """The fraction of the training that is over."""
        if self.config.steps:
            return min(1.0, self.steps / self.config.steps)
        return min(1.0, self.clock.seconds / (60 * self.config.minutes))

    @property
    def passes(self) -> float:
        """Over the text; a sentence is read twice in each pass over the rows."""
        return 2 * self.steps / self.batches

    def autocast(self) -> Any:
        """Products in bfloat16 with precision=bf16, in float32 with precision=float32."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.config.precision == "bf16" else nullcontext()

    def run(self, save: Callable[[], None]) -> None:
        """Train until the end, resuming from the newest checkpoint; `save` is called at each checkpoint and the end.

        Raises UserError if the loss becomes NaN. The last checkpoint stays.
        """
        self._resume()
        self.clock.start()
        batches = self._batches()
        loss: Loss = self.loss
        if self.config.compile:
            loss = compiled(self.loss, self._masked(self.rows[: self.config.batch], 0), self.autocast)
            console.print(f"compiled after {self.clock.seconds - self.clock.before:.0f} s", highlight=False)
        saved = measured = self.clock.seconds
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
                if last or self.clock.seconds - measured > 60 * self.config.heldout_minutes:
                    self._measure(meter)
                    measured = self.clock.seconds
                if last or (self.clock.seconds - saved > 60 * self.config.checkpoint_minutes and not since):
                    self._checkpoint()
                    save()
                    saved = self.clock.seconds
        self.clock.stop()
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
        factor = rate_factor("linear", step=self.steps, warmup=self.config.warmup, done=self.done)
        rate = self.config.learning_rate * factor
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
        self.curve.add([[self.steps, self.pieces, f"{loss:.5f}", f"{rate:.4g}", f"{self.clock.seconds:.1f}"]])
        meter.advance(int(pieces), f"loss {loss:.3f}  lr {rate:.2e}  {self.done:.1%}", steps=steps)

    def _measure(self, meter: Meter) -> None:
        for name, loss in self.measure().items():
            self.losses.add([[self.steps, name, f"{loss:.5f}", f"{self.clock.seconds:.1f}"]])
            meter.say(f"step {self.steps}: held-out loss {loss:.4f} ({name})")

    def _checkpoint(self) -> None:
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        state["precision"] = self.config.precision
        place = {"steps": self.steps, "pieces": self.pieces, "seconds": self.clock.seconds}
        save_checkpoint(self.out / "checkpoints", self.steps, state | place)

    def _resume(self) -> None:
        """From the newest checkpoint that can be read, if there is any; the curves are cut there."""
        path, state = newest_checkpoint(self.out / "checkpoints")
        self.config.precision = choose_precision(
            self.config.precision,
            device=self.device.type,
            bfloat16="bf16",
            float32="float32",
            kept=state.get("precision", "bf16") if state else None,  # older checkpoints do not name it
        )
        if path:
            try:
                self.model.load_state_dict(state["model"])
                self.optimizer.load_state_dict(state["optimizer"])
            except (RuntimeError, ValueError, KeyError):
                raise UserError(f"{path}: a model of another shape. Remove {self.out} or give another out=.") from None
            self.steps, self.pieces, self.clock.before = state["steps"], state["pieces"], state["seconds"]
        self.curve.resume(self.steps)
        self.losses.resume(self.steps)


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
