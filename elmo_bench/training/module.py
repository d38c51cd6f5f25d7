"""One Lightning module for every head."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor

from elmo_bench.base.errors import UserError
from elmo_bench.training.contracts import Head, Metric


class HeadTraining(pl.LightningModule):
    """Trains a head on its loss and the mixes' penalty; scores a split with the task's metric at the end of a pass."""

    def __init__(
        self,
        head: Head,
        metric: Metric,
        optimizer: Callable[[Any], torch.optim.Optimizer],
        gold: dict[str, Sequence[Any]],
        schedule: Mapping[str, Any] | None = None,
    ):
        """schedule: {"scheduler": what makes one of the optimizer, "every": training steps between its steps}.

        "every": "epoch" is for a scheduler whose `step` takes a score, dev's after each epoch (ReduceLROnPlateau).
        """
        super().__init__()
        self.head, self.metric, self.optimizer, self.gold = head, metric, optimizer, gold
        self.schedule = schedule
        self.predicted: dict[int, Any] = {}
        self.scores: dict[str, Any] = {}  # of the last pass
        self.seen: list[Any] = []  # its predictions

    def training_step(self, batch: dict[str, Any], _index: int) -> Tensor:
        loss = self.head.loss(batch) + self.head.embedder.regularisation()
        if not torch.isfinite(loss):
            raise UserError(
                f"epoch {self.current_epoch}, step {self.global_step}: the loss is {loss.item()}; "
                "lower task.training.optimizer.lr"
            )
        self.log("loss", loss, batch_size=len(batch["numbers"]), on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch: dict[str, Any], _index: int) -> None:
        self.predicted.update(zip(batch["numbers"], self.head.predict(batch), strict=True))

    test_step = validation_step

    def on_validation_epoch_end(self) -> None:
        self._finish("dev")
        score = float(self.scores["overall"][self.metric.main])
        self.log(f"dev_{self.metric.main}", score)
        # Lightning's own step comes after the checkpoint of the epoch, which a resumed run would go on without.
        fitting = self.trainer.state.fn == TrainerFn.FITTING
        if fitting and self.schedule is not None and self.schedule["every"] == "epoch":
            self.lr_schedulers().step(score)  # type: ignore[union-attr, call-arg, arg-type]

    def on_test_epoch_end(self) -> None:
        self._finish("test")

    def configure_optimizers(self) -> Any:
        try:
            optimizer = self.optimizer([p for p in self.parameters() if p.requires_grad])
        except (TypeError, ValueError) as error:
            raise UserError(f"an option has a value that does not fit: {error}; see task.training.optimizer") from error
        if self.schedule is None:
            return optimizer
        every = self.schedule["every"]
        if every != "epoch" and (not isinstance(every, int) or every < 1):
            raise UserError(f"task.training.schedule.every={every}: give a number of steps from 1, or epoch")
        try:
            scheduler = self.schedule["scheduler"](optimizer)
        except (TypeError, ValueError) as error:
            raise UserError(f"an option has a value that does not fit: {error}; see task.training.schedule") from error
        when = {"interval": "epoch", "monitor": f"dev_{self.metric.main}"} if every == "epoch" else {"interval": "step"}
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, **when}}

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        # Lightning's own `frequency` counts the batches of an epoch, and so begins anew with each.
        every = self.schedule and self.schedule["every"]
        if isinstance(every, int) and self.global_step % every == 0:
            scheduler.step()

    def _finish(self, split: str) -> None:
        self.seen = [self.predicted[number] for number in range(len(self.gold[split]))]
        self.predicted = {}
        self.scores = self.metric.score(self.gold[split], self.seen)
