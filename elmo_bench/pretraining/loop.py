"""The training itself: steps over batches of whole sentences until the time or the passes are spent."""

import math
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.files import atomic_write, read_checkpoint, write_checkpoint
from elmo_bench.base.progress import Meter, console, progress
from elmo_bench.pretraining.encode import Batch, Batches, Encoded
from elmo_bench.pretraining.kernels import Sampler, cross_entropy
from elmo_bench.pretraining.network import LanguageModel, features
from elmo_bench.spec.options import dotted, spelled
from elmo_bench.training.optimisers import OPTIMISERS, construct

BFLOAT16 = "bf16-mixed"
READ_EVERY = 50  # steps between reading losses on a GPU, which waits for it
AHEAD = 4  # batches made while the device works
CHECKPOINT = "[0-9]" * 8 + ".ckpt"  # named by its step
KEPT = 2  # checkpoints, as in bilm-tf


class Training:
    """A language model with its texts and its optimiser, at a step of its training by `config.recipe`.

    It resumes from the newest good checkpoint in `<out>/checkpoints`. `weights` is the checksum of the weights that
    it started from, if any. Raises UserError for a checkpoint of other weights, text or settings.
    """

    def __init__(
        self, model: LanguageModel, text: Encoded, config: DictConfig, *, out: Path, weights: str | None = None
    ):
        self.config, self.recipe, self.device, self.out = config, config.recipe, torch.device(device_of(config)), out
        self.model, self.text = model.to(self.device).train(), text
        self.bfloat16 = self.recipe.precision == BFLOAT16
        self.batches = Batches(text, cells=self.recipe.cells, seed=config.seed)
        words = len(model.softmax.bias)
        self.sampler = Sampler(words, min(self.recipe.samples, words), self.device)
        plain: Any = OmegaConf.to_container(self.recipe.optimizer, resolve=True)
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimizer = construct("recipe.optimizer", OPTIMISERS, plain, self.parameters)
        self.rate = self.optimizer.param_groups[0]["lr"]
        self.step = self.read = self.number = self.index = 0  # steps, targets, pass, batch of the pass
        self.curve: list[list[float]] = []  # step, targets, the losses of both directions, learning rate
        self.unread: list[tuple[int, int, float, Tensor, Tensor]] = []  # steps whose losses are on the device
        self.before, self.started = 0.0, time.monotonic()
        used: Any = OmegaConf.to_container(config.recipe, resolve=True)
        self.recipes: list[tuple[int, dict[str, Any]]] = [(0, dotted(used, "recipe."))]  # each with its first step
        self.same = {  # in every run of a training
            "weights": weights,
            "text": text.digest,  # of the vocabulary, too, which is that of the weights
            "seed": config.seed,
            "shape": model.bilm.options.to_json(),
            "recipe.cells": self.recipe.cells,
            "recipe.optimizer.name": plain["name"],
        }
        self._resume()

    @property
    def seconds(self) -> float:
        """Seconds of training, earlier runs included."""
        return self.before + time.monotonic() - self.started

    @property
    def changes(self) -> list[str]:
        """What a resumed training changed of its recipe, and from which step."""
        changes = []
        for (_, old), (step, new) in pairwise(self.recipes):
            keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
            told = (f"{key}={spelled(new.get(key))} (before: {spelled(old.get(key))})" for key in keys)
            changes.append(f"from step {step + 1:,}: {', '.join(told)}")
        return changes

    @property
    def done(self) -> float:
        """The fraction of the training that is over, by `recipe.steps`, `recipe.minutes` or `recipe.epochs`."""
        if self.recipe.steps is not None:
            return min(1.0, self.step / self.recipe.steps)
        if self.recipe.minutes is not None:
            return min(1.0, self.seconds / (60 * self.recipe.minutes))
        return min(1.0, self.read / (self.recipe.epochs * self.text.cells))

    def train_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One step; the mean loss [2] of each direction, and whether the gradient was finite."""
        torch.manual_seed(self.config.seed * 1_000_003 + self.step)  # draws depend only on the seed and the step
        done = self.done
        factor = rate_factor(self.recipe.schedule, step=self.step, warmup=self.recipe.warmup, done=done)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * factor
        x, targets = features(self.model, batch, bfloat16=self.bfloat16)
        sampler = self.sampler if done < self.recipe.full_from else None
        mean, losses = cross_entropy(x, self.model.softmax.weight, self.model.softmax.bias, targets, sampler)
        mean.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip, foreach=True)
        for parameter in self.parameters:  # a gradient that is not finite changes nothing
            assert parameter.grad is not None
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step, self.read, self.index = self.step + 1, self.read + batch.cells, self.index + 1
        return losses.view(2, -1).sum(dim=1) / batch.cells, torch.isfinite(norm)

    def run(self, title: str) -> None:
        """Train to the end, from the current step."""
        saved = time.monotonic()
        with progress(title) as meter:
            for batch in self._remaining():
                result = self.train_step(batch)
                self.unread.append((self.step, self.read, self.optimizer.param_groups[0]["lr"], *result))
                if self.device.type == "cpu" or len(self.unread) == READ_EVERY:
                    self._look(meter)
                if time.monotonic() - saved > 60 * self.config.checkpoint_minutes:
                    self._look(meter)
                    self._save()
                    saved = time.monotonic()
            self._look(meter)
        self._save()

    def _remaining(self) -> Iterator[Batch]:
        """The batches from here on; a thread makes the next ones meanwhile."""
        with ThreadPoolExecutor(1) as thread:
            while self.done < 1:
                plan = iter(self.batches.plan(self.number)[self.index :])
                coming = deque(thread.submit(self.batches.batch, sentences) for sentences in islice(plan, AHEAD))
                while coming and self.done < 1:
                    batch = coming.popleft().result()
                    coming.extend(thread.submit(self.batches.batch, sentences) for sentences in islice(plan, 1))
                    yield batch
                if not coming:
                    self.number, self.index = self.number + 1, 0

    def _look(self, meter: Meter) -> None:
        """Read losses, which waits for the device. Raises UserError if they are not finite."""
        if not self.unread:
            return
        steps, read, rates, losses, finite = zip(*self.unread, strict=True)
        self.unread = []
        if torch.stack(finite).float().mean() < 0.5:
            raise UserError(
                f"step {self.step}: the gradient is not finite. The last checkpoint is good: resume from it with a "
                "lower recipe.optimizer.lr."
            )
        values = torch.stack(losses).cpu()
        before = self.curve[-1][1] if self.curve else 0
        self.curve += map(list, zip(steps, read, *values.T.tolist(), rates, strict=True))
        done = self.done
        meter.advance(
            self.read - int(before),
            f"loss {values.mean():.3f}  lr {rates[-1]:.2e}  pass {self.read / self.text.cells:.2f}  "
            f"{100 * done:.1f} % done, {self.seconds * (1 / done - 1) / 60:,.1f} minutes left",
            steps=len(steps),
        )

    def _save(self) -> None:
        """Write a checkpoint and the curve; the newest checkpoints stay."""
        state = {
            "place": [self.step, self.read, self.number, self.index],
            "seconds": self.seconds,
            "same": self.same,
            "curve": self.curve,
            "recipes": self.recipes,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        folder = self.out / "checkpoints"
        write_checkpoint(folder / f"{self.step:08d}.ckpt", state)
        paths = sorted(folder.glob(CHECKPOINT))
        newest = [path for path in paths if path.stem <= f"{self.step:08d}"][-KEPT:]  # one of a later step is damaged
        for path in set(paths).difference(newest):
            path.unlink()
        with atomic_write(self.out / "curve.csv", "w") as file:
            file.write("step,tokens,forward,backward,rate\n")
            file.writelines("{},{},{:.5f},{:.5f},{:.4g}\n".format(*row) for row in self.curve)

    def _resume(self) -> None:
        """Go on from the newest checkpoint that can be read, if any.

        Raises UserError if all are damaged: a long training must not start again silently.
        """
        paths = sorted((self.out / "checkpoints").glob(CHECKPOINT), reverse=True)
        for path in paths:
            try:
                state = read_checkpoint(path)
                break
            except UserError as damaged:
                if path == paths[-1]:
                    raise
                console.print(f"{damaged} Trying the checkpoint before it.", highlight=False)
        else:
            return
        for name, now in self.same.items():
            if state.get("same", {}).get(name) != now:
                advice = f"Resume with the same, or remove {self.out}, or give another out=."
                other = "text, tokenizer or recipe.vocabulary" if name == "text" else name
                raise UserError(f"{path}: from a training with other {other}. {advice}")
        console.print(f"resuming from {path} at step {state['place'][0]}", highlight=False)
        self.model.load_state_dict(state["model"])
        own = self.optimizer.state_dict()["param_groups"]  # of this config: it may have others than the checkpoint
        self.optimizer.load_state_dict({**state["optimizer"], "param_groups": own})
        self.step, self.read, self.number, self.index = state["place"]
        self.before, self.curve = state["seconds"], state["curve"]
        [(_, now)], kept = self.recipes, state.get("recipes", self.recipes)  # checkpoints of earlier versions lack it
        self.recipes = kept if kept[-1][1] == now else [*kept, (self.step, now)]
        for change in self.changes[len(kept) - 1 :]:
            console.print(f"the recipe has changed, {change}", highlight=False)


def device_of(config: DictConfig) -> str:
    """torch's name of the device. Raises UserError if it is missing."""
    if config.accelerator == "gpu" and not torch.cuda.is_available():
        raise UserError("accelerator=gpu: no CUDA device here. Use accelerator=cpu.")
    return "cuda" if config.accelerator == "gpu" else "cpu"


def rate_factor(schedule: str, *, step: int, warmup: int, done: float) -> float:
    """The learning rate as a fraction of its highest value: a linear warm-up, then by `done`, the fraction behind.

    `constant` stays, `linear` falls to 0, `cosine` falls to a fiftieth.
    """
    up = min(1.0, (step + 1) / max(1, warmup))
    falls = {"constant": 1.0, "linear": 1 - done, "cosine": 0.02 + 0.49 * (1 + math.cos(math.pi * done))}
    return up * falls[schedule]
