"""The language model under its optimiser: LSTM states carried from window to window, truncated back-propagation."""

import math
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from elmo_bench.base.errors import UserError
from elmo_bench.elmo.batches import zero_states
from elmo_bench.elmo.model import State
from elmo_bench.pretraining.corpus import Corpus
from elmo_bench.pretraining.model import LanguageModel
from elmo_bench.pretraining.stream import Stream
from elmo_bench.pretraining.training import Clock, optimiser, rate_factor
from elmo_bench.pretraining.vocabulary import TargetVocabulary
from elmo_bench.pretraining.windows import Batch, Position


class Pretraining(pl.LightningModule):
    """Trains `model` on a corpus by a recipe (`conf/recipe`); each process reads its share of the sentences.

    `cells` are the predictions of one pass, in each direction. A checkpoint has, beside Lightning's, every process's
    place in the text and LSTM states, and the seconds so far.
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
    ):
        super().__init__()
        self.model, self.vocabulary, self.corpus, self.recipe = model, vocabulary, corpus, recipe
        self.cells, self.seed, self.processes = cells, seed, processes
        self.states: list[State] | None = None
        self.position: Position | None = None  # in the text, behind the last step
        self.clock = Clock()

    @property
    def steps(self) -> int:
        """Of the whole training: `steps` of the recipe, or as many as its epochs have."""
        if self.recipe.steps is not None:
            return self.recipe.steps
        return max(1, math.ceil(self.recipe.epochs * self.cells / self.tokens))

    @property
    def tokens(self) -> int:
        """Words that a step reads, in each direction, over all processes."""
        return self.recipe.rows * self.recipe.window * self.processes

    def stream(self, *, rank: int, position: Position | None = None) -> Stream:
        """What a process reads."""
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

    def train_dataloader(self) -> DataLoader:
        self.clock.start(self.clock.before)
        return DataLoader(Windows(self.stream(rank=self.global_rank, position=self.position)), batch_size=None)

    def training_step(self, batch: Batch, _index: int) -> dict[str, Tensor]:
        # The draws of a step depend on nothing before it.
        torch.manual_seed((self.seed * 1_000_003 + self.global_step) * self.processes + self.global_rank)
        ids, words, targets, keep = (
            torch.as_tensor(array, device=self.device) for array in (batch.ids, batch.words, batch.targets, batch.keep)
        )
        _, steps, rows = words.shape
        carried = self.states or zero_states(self.model.bilm.options, rows, keep)
        states = [(h.to(self.device), c.to(self.device)) for h, c in carried]  # those of a checkpoint lie on the CPU
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
        """By the norm of all gradients; a step that is not a number is never taken."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters(), self.recipe.clip)
        if not torch.isfinite(norm):
            raise UserError(
                f"step {self.global_step}: the gradient is not finite; the last checkpoint is good, go on from it with "
                "a lower recipe.optimizer.lr"
            )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        mine = {"position": self.position, "states": [(h.cpu(), c.cpu()) for h, c in self.states or []]}
        everyone: list[Any] = [mine]
        if self.processes > 1:
            everyone = [None] * self.processes
            torch.distributed.all_gather_object(everyone, mine)
        checkpoint["processes"] = everyone
        checkpoint["seconds"] = self.clock.seconds

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if (before := len(checkpoint["processes"])) != self.processes:
            raise UserError(f"devices was {before} and is {self.processes}: go on with as many, or start anew")
        mine = checkpoint["processes"][self.global_rank]
        self.position, self.clock.before = mine["position"], checkpoint["seconds"]
        self.states = [(h, c) for h, c in mine["states"]] or None

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        return batch


class Windows(IterableDataset):
    """A stream, as the DataLoader wants it."""

    def __init__(self, stream: Stream):
        self.stream = stream

    def __iter__(self):
        return iter(self.stream)
