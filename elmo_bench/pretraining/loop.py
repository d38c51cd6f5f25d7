"""The training itself: steps over batches of whole sentences.

It ends when the steps, the time or the passes are spent.
"""

import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor
from torch.optim import Optimizer

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write
from elmo_bench.base.progress import Meter, console, progress
from elmo_bench.pretraining import checkpoints
from elmo_bench.pretraining.batches import Batch, Batches
from elmo_bench.pretraining.encode import Encoded
from elmo_bench.pretraining.kernels import Sampler, cross_entropy
from elmo_bench.pretraining.network import LanguageModel, features
from elmo_bench.spec.options import dotted, spelled
from elmo_bench.training.optimisers import OPTIMISERS, construct

BFLOAT16 = "bf16-mixed"
READ_EVERY = 50  # steps between reading losses on a GPU, which waits for it
AHEAD = 4  # batches made while the device works


class Training:
    """A language model with its texts and its optimiser, at a step of its training.

    It trains by `config.recipe`. It resumes from the newest good checkpoint in
    `<out>/checkpoints`. `weights` is the checksum of the weights that it started from,
    if any. Raises UserError for a checkpoint of other weights, text or settings.
    """

    def __init__(
        self,
        model: LanguageModel,
        text: Encoded,
        config: DictConfig,
        *,
        out: Path,
        weights: str | None = None,
    ):
        recipe = config.recipe
        plain: Any = OmegaConf.to_container(recipe, resolve=True)
        self.config = config
        self.recipe = recipe
        self.out = out
        self.device = torch.device(device_of(config))
        self.model = model.to(self.device).train()
        self.text = text
        self.bfloat16 = recipe.precision == BFLOAT16
        self.batches = Batches(text, cells=recipe.cells, seed=config.seed)
        words = len(model.softmax.bias)
        self.sampler = Sampler(words, min(recipe.samples, words), self.device)
        self.parameters = [part for part in model.parameters() if part.requires_grad]
        self.optimizer = optimizer_of(config, self.parameters)
        self.rate = self.optimizer.param_groups[0]["lr"]
        self.step = 0
        self.read = 0  # targets
        self.number = 0  # of the pass
        self.index = 0  # of the batch in the pass
        # Step, targets, the losses of both directions, learning rate.
        self.curve: list[list[float]] = []
        # Whether the gradients of the last steps were finite, on the device.
        self.finite: deque[Tensor] = deque(maxlen=READ_EVERY)
        # Steps whose losses are on the device.
        self.unread: list[tuple[int, int, float, Tensor]] = []
        self.before = 0.0  # seconds of earlier runs
        self.started = time.monotonic()
        self.ended: float | None = None
        # Each with its first step.
        self.recipes: list[tuple[int, dict[str, Any]]] = [(0, dotted(plain, "recipe."))]
        self.same = {  # in every run of a training
            "weights": weights,
            "text": text.digest,  # covers the vocabulary, too, which the weights share
            "seed": config.seed,
            "shape": model.bilm.options.to_json(),
            "recipe.cells": recipe.cells,
            "recipe.optimizer.name": plain["optimizer"]["name"],
        }
        self._resume()

    @property
    def seconds(self) -> float:
        """Seconds of training, earlier runs included."""
        now = time.monotonic() if self.ended is None else self.ended
        return self.before + now - self.started

    @property
    def changes(self) -> list[str]:
        """What a resumed training changed of its recipe, and from which step."""
        changes = []
        for (_, old), (step, new) in pairwise(self.recipes):
            settings = []
            for key in {**old, **new}:
                before = old.get(key)
                now = new.get(key)
                if before != now:
                    settings.append(f"{key}={spelled(now)} (before: {spelled(before)})")
            changes.append(f"from step {step + 1:,}: {', '.join(settings)}")
        return changes

    @property
    def done(self) -> float:
        """The fraction of the training that is over.

        By `recipe.steps`, `recipe.minutes` or `recipe.epochs`.
        """
        if self.recipe.steps is not None:
            return min(1.0, self.step / self.recipe.steps)
        if self.recipe.minutes is not None:
            return min(1.0, self.seconds / (60 * self.recipe.minutes))
        return min(1.0, self.read / (self.recipe.epochs * self.text.cells))

    def train_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One step.

        Returns the mean loss [2] of each direction, and whether the gradient was
        finite.
        """
        # Draws depend only on the seed and the step.
        torch.manual_seed(self.config.seed * 1_000_003 + self.step)
        done = self.done
        factor = rate_factor(
            self.recipe.schedule, step=self.step, warmup=self.recipe.warmup, done=done
        )
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * factor
        softmax = self.model.softmax
        sampler = self.sampler if done < self.recipe.full_from else None
        x, targets = features(self.model, batch, bfloat16=self.bfloat16)
        mean, losses = cross_entropy(x, softmax.weight, softmax.bias, targets, sampler)
        mean.backward()
        norm = torch.nn.utils.clip_grad_norm_(
            self.parameters, self.recipe.clip, foreach=True
        )
        for parameter in self.parameters:  # what is not finite counts as zero
            assert parameter.grad is not None
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.read += batch.cells
        self.index += 1
        mean_losses = losses.view(2, -1).sum(dim=1) / batch.cells
        return mean_losses, torch.isfinite(norm)

    def run(self, title: str) -> None:
        """Train to the end, from the current step.

        Raises UserError if more than half of the last gradients are not finite.
        """
        saved = time.monotonic()
        with progress(title) as meter:
            for batch in self._remaining():
                loss, finite = self.train_step(batch)
                rate = self.optimizer.param_groups[0]["lr"]
                self.unread.append((self.step, self.read, rate, loss))
                self.finite.append(finite)
                if self.step % READ_EVERY == 0:
                    self._check_finite()
                if self.device.type == "cpu" or len(self.unread) == READ_EVERY:
                    self._look(meter)
                if time.monotonic() - saved > 60 * self.config.checkpoint_minutes:
                    self._look(meter)
                    self._save()
                    saved = time.monotonic()
            self._look(meter)
        self.ended = time.monotonic()
        self._save()

    def _remaining(self) -> Iterator[Batch]:
        """The batches from here on; a thread makes the next ones meanwhile."""
        with ThreadPoolExecutor(1) as thread:
            while self.done < 1:
                plan = iter(self.batches.plan(self.number)[self.index :])
                coming = deque(
                    thread.submit(self.batches.batch, sentences)
                    for sentences in islice(plan, AHEAD)
                )
                while coming and self.done < 1:
                    batch = coming.popleft().result()
                    for sentences in islice(plan, 1):
                        coming.append(thread.submit(self.batches.batch, sentences))
                    yield batch
                if not coming:
                    self.number += 1
                    self.index = 0

    def _look(self, meter: Meter) -> None:
        """Read losses, which waits for the device."""
        if not self.unread:
            return
        steps, read, rates, losses = zip(*self.unread, strict=True)
        self.unread = []
        values = torch.stack(losses).cpu()
        before = self.curve[-1][1] if self.curve else 0
        rows = zip(steps, read, *values.T.tolist(), rates, strict=True)
        self.curve += map(list, rows)
        done = self.done
        minutes_left = self.seconds * (1 / done - 1) / 60
        meter.advance(
            self.read - int(before),
            f"loss {values.mean():.3f}  lr {rates[-1]:.2e}  "
            f"pass {self.read / self.text.cells:.2f}  "
            f"{100 * done:.1f} % done, {minutes_left:,.1f} minutes left",
            steps=len(steps),
        )

    def _check_finite(self) -> None:
        """Raise UserError if most of the last gradients are not finite.

        A gradient that is not finite counts as zero, so a few do no harm.
        """
        if not self.finite:
            return
        steps = len(self.finite)
        wrong = steps - int(torch.stack([*self.finite]).sum())
        if 2 * wrong > steps:
            again = "Start again with a lower recipe.optimizer.lr."
            if checkpoints.read_newest(self.out / "checkpoints"):
                again = (
                    "The last checkpoint is good: resume from it with a lower "
                    "recipe.optimizer.lr."
                )
            raise UserError(
                f"step {self.step}: the gradient is not finite in {wrong} of the last "
                f"{steps} steps. {again}"
            )

    def _save(self) -> None:
        """Write a checkpoint and the curve; the newest checkpoints stay."""
        self._check_finite()
        state = {
            "place": [self.step, self.read, self.number, self.index],
            "seconds": self.seconds,
            "same": self.same,
            "curve": self.curve,
            "recipes": self.recipes,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        checkpoints.write(self.out / "checkpoints", self.step, state)
        with atomic_write(self.out / "curve.csv", "w") as file:
            file.write("step,tokens,forward,backward,rate\n")
            for row in self.curve:
                file.write("{},{},{:.5f},{:.5f},{:.4g}\n".format(*row))

    def _resume(self) -> None:
        """Go on from the newest checkpoint that can be read, if any.

        Raises UserError if it is of another training, and if all are damaged: a long
        training must not start again silently.
        """
        newest = checkpoints.read_newest(self.out / "checkpoints")
        if newest is None:
            return
        path, state = newest
        checkpoints.check_same(path, state, self.same)
        step = state["place"][0]
        console.print(f"resuming from {path} at step {step}", highlight=False)
        self.model.load_state_dict(state["model"])
        # Settings of this config: they may differ from those in the checkpoint.
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({**state["optimizer"], "param_groups": groups})
        self.step, self.read, self.number, self.index = state["place"]
        self.before = state["seconds"]
        self.curve = state["curve"]
        [(_, now)] = self.recipes
        earlier = state["recipes"]
        self.recipes = earlier
        if earlier[-1][1] != now:
            self.recipes = [*earlier, (self.step, now)]
        for change in self.changes[len(earlier) - 1 :]:
            console.print(f"the recipe has changed, {change}", highlight=False)


def optimizer_of(config: DictConfig, parameters: Sequence[Tensor]) -> Optimizer:
    """The optimiser of `recipe.optimizer`; options that are null are left out.

    Raises UserError for an unknown name or option.
    """
    recipe: Any = OmegaConf.to_container(config.recipe, resolve=True)
    options = recipe["optimizer"]
    if isinstance(options, dict):
        options = {key: value for key, value in options.items() if value is not None}
    optimizer: Optimizer = construct(
        "recipe.optimizer", OPTIMISERS, options, parameters
    )
    return optimizer


def device_of(config: DictConfig) -> str:
    """torch's name of the device. Raises UserError if it is missing."""
    if config.accelerator != "gpu":
        return "cpu"
    if not torch.cuda.is_available():
        raise UserError("accelerator=gpu: no CUDA device here. Use accelerator=cpu.")
    return "cuda"


def rate_factor(schedule: str, *, step: int, warmup: int, done: float) -> float:
    """The learning rate as a fraction of its highest value.

    A linear warm-up, then by `done`, the fraction behind. `constant` stays, `linear`
    falls to 0, `cosine` falls to a fiftieth.
    """
    warm = min(1.0, (step + 1) / max(1, warmup))
    falls = {
        "constant": 1.0,
        "linear": 1 - done,
        "cosine": 0.02 + 0.49 * (1 + math.cos(math.pi * done)),
    }
    return warm * falls[schedule]
