"""The training itself: steps over batches of whole sentences until the time or the passes are spent."""

import math
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import DictConfig
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.base.progress import Meter, progress
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.resident.batches import Batch, Batches
from elmo_bench.pretraining.resident.cross_entropy import Sampler, cross_entropy
from elmo_bench.pretraining.resident.encode import Encoded
from elmo_bench.pretraining.resident.muon import Muon
from elmo_bench.pretraining.resident.network import top_layer, trimmed
from elmo_bench.pretraining.training import COLUMNS, Clock, Curve, optimiser, rate_factor, save_checkpoint

READ_EVERY = 50  # steps between reading losses, which waits for the GPU
CHECK_SENTENCES = 4000  # of the held-out text, while training
CHECK_SECONDS = 60
AHEAD = 4  # batches made while the device works


class Resident:
    """A language model on a device with its text and its optimisers, at a step of its training."""

    def __init__(self, model: LanguageModel, encoded: Encoded, config: DictConfig, device: str):
        self.config, self.recipe, self.device = config, config.recipe, torch.device(device)
        self.model, self.out = model.to(self.device).train(), Path(config.out)
        self.characters = torch.from_numpy(encoded.characters).to(self.device)  # int16 WC
        self.lengths = encoded.lengths
        self.batches = Batches(
            encoded.tokens, encoded.starts, encoded.targets, cells=self.recipe.cells, seed=config.seed
        )
        self.heldout = Batches(
            encoded.heldout_tokens,
            encoded.heldout_starts[: CHECK_SENTENCES + 1],
            encoded.targets,
            cells=self.recipe.cells,
            seed=0,
        )
        self.cells = len(encoded.tokens) + len(encoded.starts) - 1  # targets of a pass, in each direction
        words = len(model.softmax.bias)
        self.sampler = Sampler(words, min(self.recipe.samples, words), self.device)
        self.optimizers = optimizers(model, self.recipe)
        self.rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in self.optimizers]
        self.step = self.read = self.number = self.index = 0  # steps, targets, pass, batch of the pass
        self.looked = 0  # targets of the steps whose losses were read
        self.clock, self.curve = Clock(), Curve(self.out / "curve.csv", COLUMNS)

    @property
    def done(self) -> float:
        """The fraction of the training that is over."""
        if self.recipe.minutes is not None:
            return min(1.0, self.clock.seconds / (60 * self.recipe.minutes))
        return min(1.0, self.read / (self.recipe.epochs * self.cells))

    def features(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The top layer [M, P] and its targets [M], forward rows first."""
        distinct, words, targets = (self._to(array) for array in (batch.distinct, batch.words, batch.targets))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bf16-mixed"):
            ids = self.characters[distinct].int()
            top = top_layer(self.model, ids, trimmed(self.lengths[batch.distinct]), words)
        return top.flatten(0, 2), targets.flatten()

    def _to(self, array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else tensor

    def train_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """One step; the mean loss [2] of each direction, and whether the gradient was finite."""
        torch.manual_seed(
            self.config.seed * 1_000_003 + self.step
        )  # random numbers depend only on the seed and the step
        done = self.done
        factor = rate_factor(self.recipe.schedule, step=self.step, warmup=self.recipe.warmup, done=done)
        for optimizer, rates in zip(self.optimizers, self.rates, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * factor
        x, targets = self.features(batch)
        sampler = self.sampler if done < self.recipe.full_from else None
        mean, losses = cross_entropy(x, self.model.softmax.weight, self.model.softmax.bias, targets, sampler)
        mean.backward()
        parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.recipe.clip, foreach=True)
        for parameter in parameters:  # a gradient that is not finite changes nothing
            assert parameter.grad is not None
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step, self.read, self.index = self.step + 1, self.read + batch.cells, self.index + 1
        return losses.view(2, -1).sum(dim=1) / batch.cells, torch.isfinite(norm)

    @torch.no_grad()
    def check(self) -> float:
        """Perplexity of the first held-out sentences, by the full softmax; NaN where there are none."""
        self.model.eval()
        total, count = torch.zeros((), device=self.device), 0
        for sentences in self.heldout.plan(0) if len(self.heldout.sizes) else []:
            batch = self.heldout.batch(sentences)
            x, targets = self.features(batch)
            _, losses = cross_entropy(x, self.model.softmax.weight, self.model.softmax.bias, targets)
            total, count = total + losses.sum(), count + 2 * batch.cells
        self.model.train()
        return math.exp(float(total) / count) if count else math.nan

    def run(self, title: str) -> None:
        """Train to the end, from the current step."""
        self.clock.start()
        kept: list[tuple[int, int, float, Tensor, Tensor]] = []
        checked = saved = time.monotonic()
        self.curve.resume(self.step)
        with progress(title) as meter:
            for batch in self._remaining():
                losses, finite = self.train_step(batch)
                kept.append((self.step, self.read, self.optimizers[0].param_groups[0]["lr"], losses, finite))
                if len(kept) == READ_EVERY:
                    self._look(kept, meter)
                now = time.monotonic()
                if now - checked > CHECK_SECONDS and len(self.heldout.sizes):
                    self._say_perplexity(meter)
                    checked = time.monotonic()
                if now - saved > 60 * self.config.checkpoint_minutes:
                    self._look(kept, meter)
                    self.save()
                    saved = time.monotonic()
            self._look(kept, meter)
            if len(self.heldout.sizes):
                self._say_perplexity(meter, ", the end")
        self.save()

    def _say_perplexity(self, meter: Meter, more: str = "") -> None:
        place = f"{self.clock.seconds:,.0f} s, step {self.step:,}"
        meter.say(f"{place}: held-out perplexity {self.check():.2f}{more}")

    def _remaining(self) -> Iterator[Batch]:
        """The batches from here on; a thread makes the next ones meanwhile."""
        with ThreadPoolExecutor(1) as thread:
            while self.done < 1:
                plan = iter(self.batches.plan(self.number)[self.index :])
                coming = deque(thread.submit(self.batches.batch, sentences) for sentences in islice(plan, AHEAD))
                while coming:
                    if self.done >= 1:
                        return
                    batch = coming.popleft().result()
                    coming.extend(thread.submit(self.batches.batch, sentences) for sentences in islice(plan, 1))
                    yield batch
                self.number, self.index = self.number + 1, 0

    def _look(self, kept: list, meter: Meter) -> None:
        """Read the losses of some steps, which waits for the device, and forget them.

        Raises UserError if they are not finite.
        """
        if not kept:
            return
        losses = torch.stack([losses for *_, losses, _ in kept]).cpu().numpy()
        finite = torch.stack([finite for *_, finite in kept]).cpu().numpy()
        if np.mean(finite) < 0.5:
            raise UserError(
                f"step {self.step}: the gradient is not finite. The last checkpoint is good: resume from it with a "
                "lower recipe.optimizer.lr."
            )
        self.curve.add(
            [step, read, f"{forward:.5f}", f"{backward:.5f}", f"{rate:.4g}"]
            for (step, read, rate, *_), (forward, backward) in zip(kept, losses, strict=True)
        )
        read, self.looked = kept[-1][1] - self.looked, kept[-1][1]
        meter.advance(
            read,
            f"loss {losses.mean():.3f}  lr {kept[-1][2]:.2e}  {100 * self.done:.1f} % of the budget, "
            f"pass {self.read / self.cells:.2f}",
            steps=len(kept),
        )
        kept.clear()

    def save(self) -> None:
        """Write a checkpoint."""
        state = {
            "place": [self.read, self.number, self.index],
            "seconds": self.clock.seconds,
            "precision": self.recipe.precision,
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
        }
        save_checkpoint(self.out / "checkpoints", self.step, {"global_step": self.step, **state})

    def load(self, checkpoint: Any) -> None:
        """Resume from the contents of a checkpoint."""
        self.model.load_state_dict(checkpoint["model"])
        for optimizer, state in zip(self.optimizers, checkpoint["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        self.step, (self.read, self.number, self.index) = checkpoint["global_step"], checkpoint["place"]
        self.clock.before = checkpoint["seconds"]
        self.looked = self.read


def optimizers(model: LanguageModel, recipe: DictConfig) -> list[torch.optim.Optimizer]:
    """The recipe's optimiser, and Muon for the biLM's matrices unless `recipe.muon` is null."""
    if recipe.muon is None:
        return [optimiser(recipe.optimizer, model.parameters())]
    characters = model.bilm.characters
    gates = [lstm.weight for lstm in model.bilm.lstms]
    matrices = [lstm.projection for lstm in model.bilm.lstms] + [characters.projection.weight]
    matrices += [linear.weight for highway in characters.highways for linear in (highway.carry, highway.transform)]
    taken = {id(parameter) for parameter in [*gates, *matrices]}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in taken]
    groups: list[dict[str, Any]] = [{"params": gates, "gates": True}, {"params": matrices}]
    return [optimiser(recipe.optimizer, rest), Muon(groups, **recipe.muon)]
