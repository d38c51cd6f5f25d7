"""The Lightning module that trains and scores every head."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from elmo_bench.base.errors import UserError
from elmo_bench.base.metric import Counts, scores_of
from elmo_bench.training.contracts import Metric
from elmo_bench.training.optimisers import LINEAR, OPTIMISERS, build_schedule, construct
from elmo_bench.training.tuned import Joint, encoder_optimiser, head_alone

DIVERGED = 1e15  # a sum of losses; no record has a larger figure
LOOK = 100  # steps between two looks at the loss, each of which waits for a GPU


def predictions_of(head: Any, batch: dict[str, Any], count: int) -> list[Any]:
    """A head's predictions for a batch of so many examples.

    Raises UserError unless they are a list, one for each.
    """
    predicted = head.predict(batch)
    if isinstance(predicted, list) and len(predicted) == count:
        return predicted
    if isinstance(predicted, list):
        result = f"{len(predicted)} predictions"
    else:
        result = f"a {type(predicted).__name__}"
    raise UserError(
        f"Head.predict: {result} for {count} examples. Return a list with one for each."
    )


class HeadTraining(pl.LightningModule):
    """Trains a head on its loss and the penalty of its mixes.

    Scores a whole split with the task's metric.

    head: a module that is a `contracts.Head`. optimizer, schedule: options by name, see
    `optimisers.py`. gold: the gold of each split. tuned_rate: of an encoder that is
    tuned.
    After a pass over a split, `predictions` holds its predictions, in the split's
    order, `counts` what each of them counts, and `scores` the split's scores.
    """

    def __init__(
        self,
        head: Any,
        metric: Metric,
        optimizer: Mapping[str, Any],
        gold: dict[str, Sequence[Any]],
        schedule: Mapping[str, Any] | None = None,
        *,
        tuned_rate: float | None = None,
    ):
        super().__init__()
        self.head = head
        self.tuned_rate = tuned_rate
        self.metric = metric
        self.optimizer = optimizer
        self.gold = gold
        self.schedule = schedule
        self.scores: dict[str, Any] = {}
        self.counts: Counts = {}
        self.predictions: list[Any] = []
        self._by_number: dict[int, Any] = {}  # predictions of the pass so far
        self._losses: Tensor | float = 0.0  # the sum of the epoch so far

    def training_step(self, batch: dict[str, Any], index: int) -> Tensor:
        loss = self.objective(batch)
        # Not finite as soon as one of the losses is not.
        losses = loss.detach() + (self._losses if index else 0)
        self._losses = losses
        if index % LOOK == 0 or self.trainer.is_last_batch:
            self._check_losses(losses, steps=index + 1)
        count = len(batch["numbers"])
        # Its mean over the epoch weights each step by its examples.
        self.log("loss", loss, batch_size=count, on_step=False, on_epoch=True)
        return loss

    def _check_losses(self, losses: Tensor, *, steps: int) -> None:
        """Raises UserError if the sum of an epoch's losses is not finite, or past 1e15.

        steps: of the epoch so far.
        """
        if not losses.abs() < DIVERGED:
            epoch = self.current_epoch + 1
            raise UserError(
                f"epoch {epoch}, by step {self.global_step}: "
                f"the epoch's mean loss is {losses.item() / steps}. "
                "Lower task.training.optimizer.lr."
            )

    def on_train_epoch_start(self) -> None:
        """In the first epochs a tuned encoder rests, and the head learns alone."""
        tuned = self.head.embedder.tuned
        if tuned is not None:
            tuned.rests = self.current_epoch < head_alone(self.trainer.max_epochs or 1)

    def on_train_batch_start(self, batch: dict[str, Any], batch_idx: int) -> None:
        """Set the rates of the next step by schedule `linear`.

        They are the share of all epochs' steps that is left. It is computed from the
        position within the epoch, so a resumed run has the same rates, and so do epochs
        that differ in their number of steps.
        """
        if self.schedule is None or self.schedule["name"] != LINEAR:
            return
        of_epoch = batch_idx / float(self.trainer.num_training_batches)
        done = self.current_epoch + of_epoch
        epochs = float(self.trainer.max_epochs or 1)
        groups = self.trainer.optimizers[0].param_groups
        for group, rate in zip(groups, self._rates, strict=True):
            group["lr"] = rate * (1 - done / epochs)

    def objective(self, batch: dict[str, Any]) -> Tensor:
        """The head's loss and the penalty of its mixes: a scalar.

        The penalty is relative to the loss of one item. Raises UserError.
        """
        loss = self.head.loss(batch)
        _check_scalar(loss)
        items = getattr(self.head, "items", 1)
        return loss + items * self.head.embedder.regularisation()

    def validation_step(self, batch: dict[str, Any], _index: int) -> None:
        numbers = batch["numbers"]
        predictions = predictions_of(self.head, batch, len(numbers))
        self._by_number.update(zip(numbers, predictions, strict=True))

    test_step = validation_step

    def on_validation_epoch_end(self) -> None:
        score = self._score("dev")
        # Lightning itself would step after the epoch's checkpoint, which a resumed run
        # then continues without the step. A score of 0 does not count as a plateau: the
        # head has found nothing yet, as in first epochs of tagging.
        is_fitting = self.trainer.state.fn == TrainerFn.FITTING
        plateau = self.lr_schedulers() if is_fitting and self.schedule else None
        if score > 0 and isinstance(plateau, ReduceLROnPlateau):
            plateau.step(score)

    def on_test_epoch_end(self) -> None:
        self._score("test")

    def configure_optimizers(self) -> Any:
        optimiser = self._optimiser()
        self._rates = [group["lr"] for group in optimiser.param_groups]
        if self.schedule is None:
            return optimiser
        scheduler = build_schedule(self.schedule, optimiser)
        if not scheduler:
            return optimiser
        is_plateau = isinstance(scheduler, ReduceLROnPlateau)
        config = {
            "scheduler": scheduler,
            "interval": "epoch" if is_plateau else "step",  # see lr_scheduler_step
            "monitor": f"dev_{self.metric.main}",
        }
        return {"optimizer": optimiser, "lr_scheduler": config}

    def _optimiser(self) -> Optimizer:
        """The head's optimiser, joined with one for the encoder if it is tuned."""
        tuned = self.head.embedder.tuned
        of_encoder = set() if tuned is None else {*tuned.parameters()}
        parameters = []
        for parameter in self.parameters():
            if parameter.requires_grad and parameter not in of_encoder:
                parameters.append(parameter)
        where = "task.training.optimizer"
        optimiser: Optimizer = construct(where, OPTIMISERS, self.optimizer, parameters)
        if tuned is None:
            return optimiser
        assert self.tuned_rate is not None
        return Joint(optimiser, encoder_optimiser(tuned, self.tuned_rate))

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        # Lightning's own `frequency` counts batches within an epoch and starts again
        # with each epoch.
        every = self.schedule and self.schedule["every"]
        if isinstance(every, int) and self.global_step % every == 0:
            scheduler.step()

    def _score(self, split: str) -> float:
        gold = self.gold[split]
        self.predictions = [self._by_number[number] for number in range(len(gold))]
        self._by_number = {}
        self.counts = self.metric.counts(gold, self.predictions)
        self.scores = scores_of(self.metric, self.counts)
        self.log(f"{split}_{self.metric.main}", self.main_score)
        return self.main_score

    @property
    def main_score(self) -> float:
        """Of the last split that was scored."""
        return float(self.scores["overall"][self.metric.main])


def _check_scalar(loss: Any) -> None:
    """Raises UserError unless a loss is a tensor without dimensions."""
    if isinstance(loss, Tensor) and loss.ndim == 0:
        return
    if isinstance(loss, Tensor):
        result = f"tensor of shape {[*loss.shape]}"
    else:
        result = type(loss).__name__
    raise UserError(
        f"Head.loss: a {result}. Return a tensor that is a scalar, such as the mean."
    )
